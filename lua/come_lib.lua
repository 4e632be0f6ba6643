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
--   ages     of each age since the call, as in AGES: how many came at it, and how
--            many who were there, and numbers, passed through it; in thousandths,
--            faded
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

-- most fields of bits
local FIELDS = 8192

-- us of a slot; in which one has the turn; by which Redis's clock may have gone
-- back since; and for which the counter stands where one that came late asks in
-- vain: its host asks again each 250 ms.  As much of the rate is kept meanwhile,
-- but it is missing from the 10 s before.
local SLOT, TURN, BACK, ASK = 400000, 30000000, 1000000, 500000

-- numbers that are taken to have come, all of them, before anything is known
local PRIOR = 3

-- of an age that is seen: for how many s as many passed through it as by the
-- rate, since those called first ask more often; the age up to which who asks
-- often has; and which part came, at least, if some did
local SEEN, OFTEN, SOME = 1.5, 4, 0.05

-- s since the call, between which it is looked at how many come; and us in
-- which that fades
local AGES = { 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30 }
local FADES = 4000000

-- how many times as many numbers as by the rate are called at most, to make
-- up for people who were expected and did not come; and us of the rate, or so
-- many times its root, beyond which that is forgotten: a few are missing by
-- chance
local CATCH_UP, OWED, CHANCE = 1.5, 300000, 5

-- numbers that are passed over, at least; how often in 30 s; and how many who
-- are there one step may call one by one
local STRETCH, GAPS, ONES = 32, 16, 4096

local NONE = string.rep('\0', BYTES)

-- how many bits half a byte has
local count = { [0] = 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 }

-- whether a number that was called then still has the turn
function c.of_late(at)
  return v.us - at <= TURN and v.us - at > -BACK
end

function c.forget()
  c.ages = {}
  for i = 1, #AGES - 1 do
    c.ages[i] = { came = 0, n = 0, all = 0 }
  end
end

function c.load()
  local of = v.int(v.activation)
  local f = call('HMGET', KEY.come, 'of', 'credit', 'allow', 'slots', 'asking',
                 'low', 'gaps', 'shows', 'ages', 'owed', 'last', 'kept',
                 'since')

  if f[1] ~= of then
    call('DEL', KEY.come, KEY.late)
    call('HSET', KEY.come, 'of', of)
    f = {}
  end

  c.since = told(f[13])
  if c.since == 0 then
    c.since = v.us
    call('HSET', KEY.come, 'since', v.int(v.us))
  end

  c.credit, c.allow = (f[2] or 0) + 0, (f[3] or 0) + 0
  c.asking, c.low = told(f[5]), (f[6] or 0) + 0
  c.shows = (f[8] or 1000) + 0
  c.owed = (f[10] or 0) + 0
  c.last, c.kept = told(f[11]), (f[12] or 0) + 0
  if v.rest == 1 then
    -- as many as may be, which may be more by now
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

  c.ages = {}
  for came, n, all in string.gmatch(f[9] or '', '(%d+) (%d+) (%d+);') do
    c.ages[#c.ages + 1] = { came = came / 1000, n = n / 1000, all = all / 1000 }
  end
  if #c.ages ~= #AGES - 1 or #c.slots == 0 then
    c.forget()
  end

  for from, to, at in string.gmatch(f[7] or '', '(%d+) (%d+) (%d+);') do
    if c.of_late(at + 0) then
      c.gaps[#c.gaps + 1] = { from = from + 0, to = to + 0, at = at + 0 }
    end
  end
end

function c.save()
  local slots, gaps, ages = {}, {}, {}
  for i, s in ipairs(c.slots) do
    slots[i] = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f;',
                             s.from, s.to, s.at, s.came, s.charge, s.most, s.n,
                             s.known)
  end
  for i, g in ipairs(c.gaps) do
    gaps[i] = string.format('%.0f %.0f %.0f;', g.from, g.to, g.at)
  end
  for i, a in ipairs(c.ages) do
    ages[i] = string.format('%.0f %.0f %.0f;', a.came * 1000, a.n * 1000,
                            a.all * 1000)
  end
  call('HSET', KEY.come, 'credit', v.int(c.credit), 'allow', v.int(c.allow),
       'slots', table.concat(slots), 'asking', v.int(c.asking),
       'low', v.int(c.low), 'gaps', table.concat(gaps),
       'shows', v.int(c.shows), 'ages', table.concat(ages),
       'owed', v.int(c.owed), 'last', v.int(c.last), 'kept', v.int(c.kept))
end

function c.keep()
  if v.ms - c.kept > 3600000 or v.ms < c.kept then
    c.kept = v.ms
    call('EXPIRE', KEY.come, WEEK)
    call('EXPIRE', KEY.late, WEEK)
  end
end

-- a slot of late that has some of the numbers from first on; or nil
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

-- which of the ages it is, us
function c.age(us)
  local i = 1
  while i < #AGES - 1 and us >= AGES[i + 1] * 1000000 do
    i = i + 1
  end
  return i
end

-- Lets so much of a slot pass through the ages between two times, us.
function c.expose(seen, from, to, n, numbers)
  for i = c.age(from), #AGES - 1 do
    local low, high = AGES[i] * 1000000, AGES[i + 1] * 1000000
    if low >= to then
      break
    end
    local part = (math.min(to, high) - math.max(from, low)) / (high - low)
    seen[i] = seen[i] or { n = 0, all = 0 }
    seen[i].n = seen[i].n + part * n
    seen[i].all = seen[i].all + part * numbers
  end
end

-- All that was called has aged.
function c.grow(since)
  local seen, fades = {}, math.exp(-since / FADES)
  for _, s in ipairs(c.slots) do
    local age = math.max(0, v.us - s.at)
    c.expose(seen, math.max(0, age - since), age, s.n, s.to - s.from + 1)
  end
  for i, new in pairs(seen) do
    local a = c.ages[i]
    a.came, a.n = a.came * fades, a.n * fades + new.n
    a.all = a.all * fades + new.all
  end
end

-- n of these numbers came; those that were not called by the rate are charged
-- now.
function c.came(first, last, n)
  local s = c.slot_of(first, last)
  if s then
    local a = c.ages[c.age(v.us - s.at)]
    s.came = s.came + n
    a.came = a.came + n
  elseif not c.by_hand(first, last) then
    c.credit = c.credit - n * 1000000
  end
end

-- Of eight numbers those came; each is of its own slot, where few are called.
function c.eight(first, bits)
  local s = c.slot_of(first, first + 7)
  if s and s.from <= first and s.to >= first + 7 then
    c.came(first, first + 7, count[bits % 16] + count[math.floor(bits / 16)])
    return
  end
  for n = first, first + 7 do
    if bits % 2 == 1 then
      c.came(n, n, 1)
    end
    bits = math.floor(bits / 2)
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
        c.eight(field * BITS + (i - 1) * 8, n)
      end
      new = true
    end
    now[i] = string.char(bit.bor(b, h))
  end
  if new then
    call('HSET', KEY.come, v.int(field), table.concat(now))
  end
end

-- Takes fields of bits that a host tells: a number, a colon, bytes.  What is
-- told again changes nothing, and is not charged if Redis lost it meanwhile.
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

-- Which part of those who were called is taken to come at ages that are not seen
-- yet: as many a second as did of late, once some came, and an age was seen at
-- which who asks often has; all, before.
function c.to_come(most)
  local came, enough = 0, SEEN * v.rate_in_force()
  for i, a in ipairs(c.ages) do
    if a.n < enough then
      local low, recent = AGES[i], PRIOR / enough
      if low < OFTEN or low > most or came < SOME then
        return 1
      end
      for j = i - 1, 1, -1 do
        if AGES[j] < low - 2 then
          break
        end
        recent = recent + c.ages[j].came / c.ages[j].n
      end
      return math.min(1, recent / 2 * (most + 1 - low))
    end
    came = came + a.came / (a.n + PRIOR)
  end
  return 1
end

-- How many come of those who are called and there, and of all numbers, as
-- people of each age do now, and up to which age that is known.  Those who are
-- to come at ages not seen yet are taken to, once people who are called at so
-- many a second have asked again.
function c.learn(rate)
  local most = math.max(2, 5 - 500 / rate, 10 - 2000 / rate, 15 - 10000 / rate)
  local to_come = PRIOR * c.to_come(most)
  local p, of_all = 0, 0
  c.sums = { 0 }
  for i, a in ipairs(c.ages) do
    local low, high = AGES[i], AGES[i + 1]
    local prior = math.max(0, math.min(high, most + 1) - math.max(low, most))
    local came = a.came + to_come * prior
    p = p + came / (a.n + PRIOR)
    of_all = of_all + came / (a.all + PRIOR)
    c.sums[i + 1] = of_all
  end
  local least = 1 / ARG.noshow
  c.of_all = math.min(1, math.max(of_all, least))
  c.p = c.known == 1 and math.min(1, math.max(p, least)) or c.of_all
end

-- which part of those who come has come so long after the call
function c.part(us)
  local i = c.age(us)
  local low, high = AGES[i], AGES[i + 1]
  local in_it = math.min(1, math.max(0, (us / 1000000 - low) / (high - low)))
  return (c.sums[i] + in_it * (c.sums[i + 1] - c.sums[i])) / c.sums[#AGES]
end

-- Who is to be expected of so many numbers of which n are there, in
-- millionths.  If fewer are there than of earlier numbers, since others were
-- heard to have gone, it is as many as of so many earlier numbers.
function c.worth(numbers, n)
  return math.floor(1000000 * math.max(c.p * n, math.min(n, c.of_all * numbers)))
end

-- What is still to be expected of each slot, and what has come.
function c.settle()
  local kept = {}
  c.known = there.known() and 1 or 0
  -- where it is not known who is there those ahead are counted by numbers
  c.learn(math.max(1, v.rate_in_force())
          / (c.known == 1 and 1 or c.shows / 1000))
  for _, s in ipairs(c.slots) do
    local f = c.part(v.us - s.at)
    local rest = math.max(0, s.n - s.came)
    local charge = s.came * 1000000
    if f < 1 and rest > 0 then
      local p = s.known == 1 and c.worth(s.to - s.from + 1, s.n) / s.n / 1000000
                or c.of_all
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

-- Whether a number that asks may go in: by the rate; at a rate of 0 only
-- numbers that an operator called.
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

-- Numbers whose turn is over get it again, ahead of all who are called, the
-- lower first: with a time of their own, 0 if they came in theirs.
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

-- Drops what nobody has a use for any more.
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

-- Calls the numbers up to `to`, of whom n are there.
function c.call(to, n)
  local s, from = c.slots[#c.slots], v.serving + 1
  local charge = c.worth(to - v.serving, n)
  c.credit, c.allow = c.credit - charge, c.allow - (to - v.serving) * 1000000
  v.serving = to
  if s and s.to == from - 1 and v.us - s.at < SLOT and s.known == c.known then
    local seen = {}
    c.expose(seen, 0, v.us - s.at, n, to - from + 1)
    for i, new in pairs(seen) do
      c.ages[i].n, c.ages[i].all = c.ages[i].n + new.n, c.ages[i].all + new.all
    end
    s.to, s.n = to, s.n + n
    s.charge, s.most = s.charge + charge, s.most + charge
  else
    c.slots[#c.slots + 1] = { from = from, to = to, at = v.us, came = 0,
                              charge = charge, n = n, known = c.known,
                              most = charge }
  end
end

-- Whether nobody is there of enough numbers behind n, so that these may be
-- passed over; then the first number behind them, or the next who is there.
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

-- Calls those who are there, and numbers between them whose people are not, as
-- far as the credit goes.
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
    if not gap and to < v.next and after - v.serving > left
       and c.worth(after - v.serving, n + 1) <= want
    then
      -- not all at once: there are none up to the next one
      to = math.max(to, v.serving + left)
    end
    if to > v.serving then
      c.call(to, n)
    end
  until not c.pass()
end

-- Nobody waits: the counter goes ahead as far as the credit of people who come
-- meanwhile allows, by tickets or let in by a room on standby.  It does not
-- get what late-comers had of the rate; on standby, where new people are not
-- charged to the credit, it stands while late-comers wait.
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
  local credit = v.us < c.asking and 0 or math.max(0, math.min(c.credit, c.spend))
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

-- Whether from now on nothing changes but by what is told or asked, or by what
-- v.stands() looks at.
function c.rest()
  local how = v.stands()
  if #c.slots > 0 or #c.gaps > 0 or v.us < c.asking or c.owed > 0
     or how == 1 and (c.credit < 1000000 or c.allow < c.most)
  then
    how = 0
  end
  v.rest = how
  if how > 0 then
    c.shows = 1000
  end
end

function c.step()
  c.load()
  c.keep()
  local since, rate = v.elapsed(), v.rate_in_force()
  c.grow(since)
  if v.waits() then
    -- nobody is let in, or only on trial
    c.take()
    c.settle()
    v.move()
    c.credit, c.allow, c.owed = 0, 0, 0
    c.rest()
    c.save()
    return
  end
  c.spend = math.max(CATCH_UP * rate * since, 1000000)
  c.credit = c.credit + rate * since
  c.most = math.max(ARG.noshow * rate * 500000, 1000000)
  c.allow = math.min(c.allow + ARG.noshow * rate * since, c.most)
  c.take()
  c.settle()
  c.credit = math.max(c.credit, -10000000 * math.max(rate, 1))
  if rate == 0 then
    -- paused: what was saved up before lets nobody in
    c.credit = math.min(c.credit, 0)
  end
  c.grant()
  if v.us - v.older < FOREIGN then
    v.move()
    c.credit, c.owed, c.slots = 0, 0, {}
  else
    c.lead()
  end
  -- the counter stands until it is known that no more late-comers ask
  local owed = v.us < c.asking and ASK or OWED
  c.credit = math.min(c.credit, math.max(owed * rate, 1000000,
                                         CHANCE * 1000000 * math.sqrt(rate)))
  c.shows = math.floor(c.p * 1000)
  c.trim()
  c.rest()
  c.save()
end
