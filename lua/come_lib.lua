-- Who comes of those whom the counter called: the tickets that had their first
-- token, a bit each, and the counter led by them.  Put behind vwr_lib.lua in
-- vwr_step.lua, which has its arguments, and "c".
--
-- keys: come late
--
-- "come" is a hash: bits, 512 numbers a field, whose name is the number of the
-- first one / 512; and, of the activation "of":
--
--   credit   how many may still come by the rate, in millionths; below 0: too
--            many did
--   allow    how many numbers may still be called, in millionths
--   slots    what was called in the last 30 s: from, to, when (us), how many of
--            them came, how many are charged to the credit, and were at first,
--            in millionths, how many were there, and 1 if that was known, else 0
--            and all are
--   gaps     what was passed over in the last 30 s: from, to, when
--   asking   until when late-comers are taken to wait, us
--   owed     how far the counter is not to go ahead of the last number, for those
--            late-comers who went in while nobody waited, in millionths
--   low      the first field of bits
--   since    when it was begun, us: hosts that knew one of before tell anew who
--            came
--   shows    how many of 1000 who are called come
--   lag      after how long they came, us, all together, and, lagged, how many
--            that were, both faded
--   last     the last turn of one that came late, us of the event's clock, 0: none
--   kept     when the keys were last kept from expiring, ms
--
-- Who is called is charged to the credit at once, as what is to be expected of
-- that number; the longer nobody comes the less that is, and in the end it is
-- what came.  So the counter makes up for those who do not come as soon as it
-- can be seen, and stands where more come than were expected.
--
-- Where it is known who is there (there_lib.lua, ahead of this), those alone are
-- expected, and a stretch of numbers of whom none is there is passed over at
-- once, without being called: hosts are told of it before they hear that the
-- counter is past it, so that whoever has one of them comes late.

local BITS, BYTES = 512, 64

-- of bits: more are too many
local FIELDS = 8192

-- us: of a slot; for which one has the turn; for which ones that came late are
-- waited for
local SLOT, TURN, ASK = 400000, 30000000, 1000000

-- numbers of which all are taken to have come ahead of what is known
local PRIOR = 3

-- numbers, at least, that are passed over; how often in 30 s; and how many who are
-- there may be called by one step, one by one
local STRETCH, GAPS, ONES = 32, 16, 4096

local NONE = string.rep('\0', BYTES)

-- how many bits half a byte has
local count = { [0] = 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 }

-- whether who was called then has the turn still
function c.of_late(at)
  return v.us - at <= TURN and v.us - at > -ASK
end

function c.load()
  local of = v.int(v.activation)
  local f = call('HMGET', KEY.come, 'of', 'credit', 'allow', 'slots', 'asking',
                 'low', 'gaps', 'shows', 'lag', 'lagged', 'owed', 'last',
                 'kept', 'since')

  if f[1] ~= of then
    call('DEL', KEY.come, KEY.late)
    call('HSET', KEY.come, 'of', of)
    f = {}
  end

  c.since = told(f[14])
  if c.since == 0 then
    c.since = v.us
    call('HSET', KEY.come, 'since', v.int(v.us))
  end

  c.credit, c.allow = (f[2] or 0) + 0, (f[3] or 0) + 0
  c.asking, c.low = told(f[5]), (f[6] or 0) + 0
  c.shows = (f[8] or 1000) + 0
  c.lag, c.lagged = (f[9] or 0) + 0, (f[10] or 0) + 0
  c.owed = (f[11] or 0) + 0
  c.last, c.kept = told(f[12]), (f[13] or 0) + 0
  if v.rest == 1 then
    -- as much as may be, which may have become more
    c.allow = math.huge
  end
  c.slots = {}

  for from, to, at, came, charge, most, n, known in
    string.gmatch(f[4] or '',
                  '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d);')
  do
    c.slots[#c.slots + 1] = { from = from + 0, to = to + 0, at = at + 0,
                              came = came + 0, charge = charge + 0,
                              most = most + 0, n = n + 0,
                              known = known + 0 }
  end

  for from, to, at in string.gmatch(f[7] or '', '(%d+) (%d+) (%d+);') do
    if c.of_late(at + 0) then
      c.gaps[#c.gaps + 1] = { from = from + 0, to = to + 0, at = at + 0 }
    end
  end
end

function c.save()
  local slots, gaps = {}, {}
  for i, s in ipairs(c.slots) do
    slots[i] = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f;',
                             s.from, s.to, s.at, s.came, s.charge, s.most, s.n,
                             s.known)
  end
  for i, g in ipairs(c.gaps) do
    gaps[i] = string.format('%.0f %.0f %.0f;', g.from, g.to, g.at)
  end
  call('HSET', KEY.come, 'credit', v.int(c.credit), 'allow', v.int(c.allow),
       'slots', table.concat(slots), 'asking', v.int(c.asking),
       'low', v.int(c.low), 'gaps', table.concat(gaps),
       'shows', v.int(c.shows), 'lag', v.int(c.lag), 'lagged', c.lagged,
       'owed', v.int(c.owed), 'last', v.int(c.last), 'kept', v.int(c.kept))
end

function c.keep()
  if v.ms - c.kept > 3600000 or v.ms < c.kept then
    c.kept = v.ms
    call('EXPIRE', KEY.come, WEEK)
    call('EXPIRE', KEY.late, WEEK)
  end
end

-- one that was called lately, among them those from first on; or nil
function c.slot_of(first, last)
  for i = #c.slots, 1, -1 do
    local s = c.slots[i]
    if last >= s.from then
      return first <= s.to and s or nil
    end
  end
end

function c.by_hand(first, last)
  return last > v.hand_from and first <= v.hand_to
end

-- n of eight numbers came: what was not called by the rate is charged as it does
function c.came(first, n)
  local s = c.slot_of(first, first + 7)
  if s then
    s.came = s.came + n
    c.lag = c.lag + n * math.max(0, v.us - s.at)
    c.lagged = c.lagged + n
  elseif not c.by_hand(first, first + 7) then
    c.credit = c.credit - n * 1000000
  end
end

function c.bits(field)
  local bits = call('HGET', KEY.come, v.int(field))
  return bits and #bits == BYTES and bits or NONE
end

function c.take_field(field, bits, again)
  local had, new, now = c.bits(field), false, {}
  for i = 1, BYTES do
    local b, h = string.byte(bits, i), string.byte(had, i)
    local n = bit.band(b, bit.bnot(h))
    if n > 0 then
      if not again then
        c.came(field * BITS + (i - 1) * 8,
               count[n % 16] + count[math.floor(n / 16)])
      end
      new = true
    end
    now[i] = string.char(bit.bor(b, h))
  end
  if new then
    call('HSET', KEY.come, v.int(field), table.concat(now))
  end
end

-- Fields of bits that a host tells: its number, a colon, its bytes.  What is
-- told again changes nothing; nor is it charged, if Redis lost it meanwhile.
function c.take_fields(text, again)
  local at = 1
  while true do
    local _, colon, field = string.find(text, '^(%d+):', at)
    if not colon or #text < colon + BYTES then
      break
    end
    at = colon + BYTES + 1
    if field * BITS <= v.next and field + 0 >= c.low then
      c.take_field(field + 0, string.sub(text, colon + 1, colon + BYTES), again)
    end
  end
end

function c.take()
  c.take_fields(ARG.had, true)
  c.take_fields(ARG.come, false)
  c.credit = c.credit - ARG.more * 1000000
end

function c.has_come(n)
  local byte = string.byte(c.bits(math.floor(n / BITS)),
                           math.floor(n % BITS / 8) + 1)
  return math.floor(byte / 2 ^ (n % 8)) % 2 == 1
end

function c.set(n)
  local field, i = math.floor(n / BITS), math.floor(n % BITS / 8) + 1
  local bits = c.bits(field)
  call('HSET', KEY.come, v.int(field),
       string.sub(bits, 1, i - 1)
       .. string.char(bit.bor(string.byte(bits, i), 2 ^ (n % 8)))
       .. string.sub(bits, i + 1))
end

-- In which time one who is there has come, us: as it was of late, and ahead of
-- that as those ask again who are called at so many a second.
function c.look(rate)
  local most = math.max(2, 5 - 500 / rate, 10 - 2000 / rate, 15 - 10000 / rate)
  local few = 2 * rate
  return 2 * (c.lag + few * most * 500000) / (c.lagged + few) + 1000000
end

-- How many come of those who are called and there, and of the numbers, by what was
-- called of late in the same way.
function c.share()
  local called, came, numbers = PRIOR, PRIOR, PRIOR
  for _, s in ipairs(c.slots) do
    local age = v.us - s.at
    if age >= c.looks and s.known == c.known then
      local weight = math.exp((c.looks - age) / 4000000)
      called = called + weight * s.n
      came = came + weight * s.came
      numbers = numbers + weight * (s.to - s.from + 1)
    end
  end
  local least = 1 / ARG.noshow
  return math.min(1, math.max(came / called, least)),
         math.min(1, math.max(came / numbers, least))
end

-- Who is to be expected of so many numbers of which n are there, in millionths.
-- Where fewer are there than of those before, since it was heard that others
-- went, it is as many as of so many numbers before.
function c.worth(numbers, n)
  return math.floor(1000000 * math.max(c.p * n, math.min(n, c.of_all * numbers)))
end

-- What is still to be expected of each slot, and what came.
function c.settle()
  local kept = {}
  c.known = there.known() and 1 or 0
  -- those ahead are told by numbers, where it is not known who is there
  c.looks = c.look(math.max(1, v.rate_in_force())
                   / (c.known == 1 and 1 or c.shows / 1000))
  c.p, c.of_all = c.share()
  for _, s in ipairs(c.slots) do
    local f = math.min(1, math.max(0, (v.us - s.at) / c.looks))
    local rest = math.max(0, s.n - s.came)
    local charge = s.came * 1000000
    if f < 1 and rest > 0 then
      -- how many are there may have changed since, and with it what comes of them
      local p = s.known == 1 and s.most / s.n / 1000000 or c.p
      charge = charge + math.floor(rest * 1000000 * p * (1 - f) / (1 - p * f))
    end
    c.credit = c.credit + s.charge - charge
    s.charge = charge
    if c.of_late(s.at) then
      kept[#kept + 1] = s
    end
  end
  c.slots = kept
end

-- Whether one that asks may go in: by the rate; where that is 0 those may whom
-- an operator called.
function c.may(n)
  if v.us - v.older < FOREIGN or v.rate_set() == 0 and c.by_hand(n, n) then
    return true
  end
  if c.credit < 1000000 then
    return false
  end
  c.credit, c.owed = c.credit - 1000000, c.owed + 1000000
  return true
end

function c.answer(n, turn)
  c.turns[#c.turns + 1] = n
  c.turns[#c.turns + 1] = turn
end

-- Those whose turn is over have it again, ahead of all who are called, lower
-- numbers first: by a time of their own, 0 where they came in theirs.
function c.grant()
  local waits = false
  for n in string.gmatch(ARG.asks, '%d+') do
    n = n + 0
    local turn = call('ZSCORE', KEY.late, v.int(n))
    if turn then
      c.answer(n, turn + 0)
    elseif n > v.serving then
    elseif c.slot_of(n, n) or c.has_come(n) then
      c.answer(n, 0)
    elseif c.may(n) then
      call('ZADD', KEY.late, v.int(v.now()), v.int(n))
      c.last = v.now()
      c.set(n)
      c.answer(n, v.now())
    else
      waits = true
    end
  end
  if waits then
    c.asking = v.us + ASK
  end
  if #c.turns > 0 then
    call('EXPIRE', KEY.late, WEEK)
  end
end

-- No later than that has anybody a use for them.
function c.trim()
  local over = v.now() - ARG.session_max * 1000
  if c.last > 0 then
    call('ZREMRANGEBYSCORE', KEY.late, '-inf', v.int(over))
    c.last = c.last > over and c.last or 0
  end
  local high = math.floor(v.serving / BITS)
  for _ = 1, 64 do
    if high - c.low < FIELDS then
      return
    end
    call('HDEL', KEY.come, v.int(c.low))
    c.low = c.low + 1
  end
end

-- Calls the numbers up to that one, of whom n are there.
function c.call(to, n)
  local s, from = c.slots[#c.slots], v.serving + 1
  local charge = c.worth(to - v.serving, n)
  c.credit, c.allow = c.credit - charge, c.allow - (to - v.serving) * 1000000
  v.serving = to
  if s and s.to == from - 1 and v.us - s.at < SLOT and s.known == c.known then
    s.to, s.n = to, s.n + n
    s.charge, s.most = s.charge + charge, s.most + charge
  else
    c.slots[#c.slots + 1] = { from = from, to = to, at = v.us, came = 0,
                              charge = charge, n = n, known = c.known,
                              most = charge }
  end
end

-- Whether nobody is there of so many numbers behind that one that they may be
-- passed over; the first behind them, or the next who is there.
function c.gap(n)
  local to = math.min(there.next(n + 1), v.next + 1)
  return to - 1 - n >= STRETCH and #c.gaps < GAPS, to
end

function c.pass_to(to)
  c.gaps[#c.gaps + 1] = { from = v.serving + 1, to = to, at = v.us }
  v.serving, v.passed = to, to
end

function c.pass()
  local gap, to = c.gap(v.serving)
  gap = gap and v.rate_in_force() > 0
  if gap then
    c.pass_to(to - 1)
  end
  return gap
end

-- Calls those who are there, with those between them who are not, as far as the
-- credit goes.
function c.call_there(credit)
  repeat
    local left, want = math.floor(c.allow / 1000000), math.min(c.credit, credit)
    local to, n = v.serving, 0
    local gap, after = c.gap(to)
    while not gap and to < v.next and after - v.serving <= left
          and c.worth(after - v.serving, n + 1) <= want
    do
      to, n = math.min(after, v.next), n + (after <= v.next and 1 or 0)
      gap, after = c.gap(to)
    end
    if to > v.serving then
      c.call(to, n)
    end
  until not c.pass()
end

-- Nobody waits: the counter goes ahead as far as it may, which is the credit of
-- those who come meanwhile, by tickets or as a room on standby lets them in.  What
-- late-comers had of the rate it has not; but for standby, where who is new is not
-- charged to the credit, it stands while some wait.
function c.go_ahead()
  v.part = v.part + math.floor(v.rate_in_force() * v.elapsed())
  v.updated = v.us
  local paid = math.min(c.owed, v.part)
  v.part, c.owed = v.part - paid, c.owed - paid
  if s.on or v.us >= c.asking then
    v.move()
  end
  c.credit = math.min(c.credit, 1000000)
end

-- Moves the counter on by what came since the last time.
function c.lead()
  if v.skipped() > v.serving and #c.gaps < GAPS then
    c.pass_to(v.skipped())
  end
  if v.serving >= v.next then
    c.go_ahead()
    return
  end
  v.part, v.updated, c.owed = 0, v.us, 0
  local credit = v.us < c.asking and 0 or math.max(0, c.credit)
  if c.known == 1 and credit <= ONES * 1000000 then
    c.call_there(credit)
    return
  end
  local last = v.serving < v.skip_from and v.skip_from or v.next
  local n = math.min(math.floor(credit / c.p / 1000000),
                     math.floor(c.allow / 1000000), last - v.serving)
  if n > 0 then
    c.call(v.serving + n, there.count(v.serving + 1, v.serving + n))
  end
end

-- Whether nothing changes from now on but by what is told or asked, or by what
-- v.stands() looks at.
function c.rest()
  local how = v.stands()
  if #c.slots > 0 or #c.gaps > 0 or v.us < c.asking or c.owed > 0
     or how == 1 and (c.credit < 1000000 or c.allow < c.most)
     or how ~= 3 and c.lagged >= 1
  then
    how = 0
  end
  v.rest = how
  if how > 0 then
    c.shows = 1000
    if how ~= 3 then
      c.lag, c.lagged = 0, 0
    end
  end
end

function c.step()
  c.load()
  c.keep()
  if v.waits() then
    -- nobody is let in, or on trial
    c.take()
    c.settle()
    v.move()
    c.credit, c.allow, c.owed = 0, 0, 0
    c.rest()
    c.save()
    return
  end
  local since, rate = v.elapsed(), v.rate_in_force()
  c.credit = c.credit + rate * since
  c.most = math.max(ARG.noshow * rate * 1000000, 1000000)
  c.allow = math.min(c.allow + ARG.noshow * rate * since, c.most)
  local fades = math.exp(-since / 8000000)
  c.lag, c.lagged = c.lag * fades, c.lagged * fades
  c.take()
  c.settle()
  c.credit = math.max(c.credit, -10000000 * math.max(rate, 1))
  if rate == 0 then
    -- paused: what was saved up until then lets in nobody
    c.credit = math.min(c.credit, 0)
  end
  c.grant()
  if v.us - v.older < FOREIGN then
    v.move()
    c.credit, c.owed, c.slots = 0, 0, {}
  else
    c.lead()
  end
  c.credit = math.min(c.credit, math.max(rate * 500000, 1000000))
  c.shows = math.floor(c.p * 1000)
  c.trim()
  c.rest()
  c.save()
end
