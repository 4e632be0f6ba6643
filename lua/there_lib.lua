-- Who is there of those with numbers in a waiting room: was heard of by some
-- host within twice the time after which it was to ask again, and has not left.
-- For vwr_step.lua, behind vwr_lib.lua; "there" is of vwr_step.lua.
--
-- A bit a number, in strings that are worked on as a whole: number n is bit
-- n - base.  Hosts tell what they heard of a second or less, in how many seconds
-- it lapses (0: those left).  The wheel has a bitmap for each 3 s in which
-- something may lapse; what was heard goes into that whose time ends the soonest
-- after it.  "there-all" is all of them less "there-left", of a second ago at
-- most, and what the hosts' tables are made of.
--
-- Whether all is known that could be: hosts that told something of late may be
-- cut off, those of an older version tell nothing, and what Redis lost nobody
-- tells again before it asks.  Where it is not, everybody counts as there.

-- us; the wheel turns that often, and nothing lapses later than its length
there.turn_us = 3000000

-- numbers of a host's page; base is so many pages behind the counter; and of
-- how many numbers from base on anything is kept
there.page = 3712
there.behind = 16
there.most = 8388608

-- us: a host that was silent for so long, but not for much longer, may be cut
-- off, with its people; after the second time all of these have asked again
-- elsewhere
there.late = 3000000
there.over = 40000000

-- us between two counts, in which hosts have told of new numbers
there.pace = 900000
there.fresh = 3000000

there.wheel = { KEY.there_0, KEY.there_1, KEY.there_2, KEY.there_3,
                KEY.there_4, KEY.there_5, KEY.there_6, KEY.there_7,
                KEY.there_8, KEY.there_9, KEY.there_10 }

-- What numbers mean now: see ngx_adm_there_of().
function there.meaning()
  return v.order > 0 and v.drawn > 0 and v.ready > 0 and v.drawn
         or v.activation
end

function there.load()
  if there.of then
    return
  end
  local f = call('HMGET', KEY.there, 'of', 'base', 'since', 'turn', 'settled',
                 'mark', 'mark_at', 'last', 'counted', 'left', 'first', 'hosts',
                 'known')
  there.of = there.meaning()
  there.turn = math.floor(v.us / there.turn_us)
  there.kept_turn = (f[4] or 0) + 0
  there.last = (f[8] or 0) + 0
  there.hosts = f[12] or ''
  if (f[1] or 0) + 0 ~= there.of or there.kept_turn > there.turn + 20 then
    there.begin()
    return
  end
  there.base, there.since = f[2] + 0, f[3] + 0
  there.settled, there.mark, there.mark_at = f[5] + 0, f[6] + 0, f[7] + 0
  there.counted, there.left = f[9] + 0, f[10] + 0
  there.first, there.was_known = f[11] + 0, f[13] + 0
end

-- Nothing is known of these numbers yet.  If nobody waited a moment ago, or if
-- the numbers are new, hosts are about to tell all there is.
function there.begin()
  there.new = true
  there.base = there.based()
  there.kept_turn = there.turn
  there.last = v.us
  there.since = v.us
  if v.ms - v.restored > there.over / 1000
     and (there.of == v.activation and v.us - v.activation < there.over
          or v.us - v.idle < there.over)
  then
    there.since = 0
  end
  there.settled, there.mark, there.mark_at = v.serving, v.next, v.us
  there.counted, there.left, there.first, there.was_known = 0, 0, 0, 0
end

function there.save()
  call('HSET', KEY.there, 'of', v.int(there.of), 'base', v.int(there.base),
       'since', v.int(there.since), 'turn', v.int(there.kept_turn),
       'settled', v.int(there.settled), 'mark', v.int(there.mark),
       'mark_at', v.int(there.mark_at), 'last', v.int(there.last),
       'counted', v.int(there.counted), 'left', v.int(there.left),
       'first', v.int(there.first), 'hosts', there.hosts,
       'known', v.int(there.was_known))
  call('EXPIRE', KEY.there, 3600)
end

-- a bitmap that is used once a second goes a minute after the last time
function there.keep(key)
  call('EXPIRE', key, key == KEY.there_left and 86400 or 60)
end

function there.based()
  return math.max(0, math.floor(v.serving / there.page) - there.behind)
         * there.page
end

-- Now and then lets go of what is far behind the counter.
function there.move_base()
  local base = there.based()
  if base - there.base < there.behind * there.page then
    return
  end
  local keys = { KEY.there_all, KEY.there_left, unpack(there.wheel) }
  for _, key in ipairs(keys) do
    local rest = call('GETRANGE', key, (base - there.base) / 8, -1)
    if rest == '' then
      call('DEL', key)
    else
      call('SET', key, rest)
      there.keep(key)
    end
  end
  there.base = base
end

-- What has lapsed makes room for what is going to.
function there.lapse()
  local now = math.max(there.turn, there.kept_turn)
  for turn = math.max(there.kept_turn, now - #there.wheel) + 1, now do
    call('DEL', there.wheel[turn % #there.wheel + 1])
  end
  there.kept_turn = now
end

-- Which numbers of some bitmaps are there.  All are made as long as the
-- longest: Redis works on words as far as all bitmaps go, and on bytes from
-- there on.
function there.even(keys)
  local some, lengths, longest = {}, {}, 0
  for _, key in ipairs(keys) do
    local length = call('STRLEN', key)
    if length > 0 then
      some[#some + 1], lengths[#lengths + 1] = key, length
      longest = math.max(longest, length)
    end
  end
  for i, key in ipairs(some) do
    if lengths[i] < longest then
      call('SETRANGE', key, longest - 1, '\0')
    end
  end
  return some
end

-- a = a without b
function there.less(a, b)
  if #there.even({ a, b }) < 2 then
    return
  end
  call('BITOP', 'AND', KEY.there_tmp, a, b)
  call('BITOP', 'XOR', a, a, KEY.there_tmp)
  there.keep(a)
end

-- Puts what this host heard into the bitmaps of the times when it lapses.
function there.hear()
  local heard, lapse = KEY.there_heard, nil
  call('DEL', heard)
  local function done()
    local into = KEY.there_left
    if lapse > 0 then
      local now = math.max(v.us, there.kept_turn * there.turn_us)
      local turn = math.floor((now + lapse * 1000000) / there.turn_us) + 1
      into = there.wheel[turn % #there.wheel + 1]
      if there.left == 1 then
        there.less(KEY.there_left, heard)
      end
    else
      there.left = 1
    end
    if #there.even({ into, heard }) == 1 then
      call('RENAME', heard, into)
    else
      call('BITOP', 'OR', into, into, heard)
      call('DEL', heard)
    end
    there.keep(into)
  end
  for i = #ARG, #ARGV - 1, #EACH do
    local first = ARG.first[i] - there.base
    if first >= 0 and first + 8 * #ARG.bits[i] <= there.most then
      if lapse and lapse ~= ARG.lapse[i] + 0 then
        done()
      end
      lapse = ARG.lapse[i] + 0
      call('SETRANGE', heard, first / 8, ARG.bits[i])
    end
  end
  if lapse then
    done()
  end
  call('DEL', KEY.there_tmp)
end

-- Notes who tells; returns whether a host that told of late does not.
function there.hear_of(id)
  local kept, missing = { id .. ':' .. v.int(v.us) }, false
  for host, at in string.gmatch(there.hosts, '(%d+):(%d+)') do
    local age = v.us - at
    if host ~= id and age < there.over and age > -there.over and #kept < 64
    then
      missing = missing or age > there.late
      kept[#kept + 1] = host .. ':' .. at
    end
  end
  there.hosts = table.concat(kept, ' ')
  return missing
end

function there.known()
  if there.refused or not pcall(there.load) then
    there.refused = true
    return false
  end
  return there.was_known == 1 and v.us - there.last < there.late
end

-- the first byte that is asked for; 0 beyond the end
function there.byte(index)
  return string.byte(call('GETRANGE', KEY.there_all, index, index)) or 0
end

-- How many of these numbers are there.
function there.count(from, to)
  local last = there.known()
               and math.min(to, there.settled, there.base + there.most - 1)
  if not last or last < from or from < there.base then
    return math.max(0, to - from + 1)
  end
  local a, b = from - there.base, last - there.base
  local n = to - last
  local i, j = math.ceil(a / 8), math.floor((b + 1) / 8) - 1
  if i > j then
    for bit = a, b do
      n = n + call('GETBIT', KEY.there_all, bit)
    end
    return n
  end
  for bit = a, i * 8 - 1 do
    n = n + call('GETBIT', KEY.there_all, bit)
  end
  for bit = (j + 1) * 8, b do
    n = n + call('GETBIT', KEY.there_all, bit)
  end
  return n + call('BITCOUNT', KEY.there_all, i, j)
end

-- The first number from `from` on that is there.
function there.next(from)
  local end_of = there.known()
                 and math.min(there.settled, there.base + there.most - 1)
  if not end_of or from > end_of or from < there.base then
    return from
  end
  local bit = from - there.base
  while bit % 8 > 0 do
    if call('GETBIT', KEY.there_all, bit) == 1 then
      return math.min(there.base + bit, end_of + 1)
    end
    bit = bit + 1
  end
  bit = call('BITPOS', KEY.there_all, 1, bit / 8)
  return bit < 0 and end_of + 1 or math.min(there.base + bit, end_of + 1)
end

-- Numbers that hosts have not told of yet all count as there, but for those
-- that left already.
function there.count_new()
  local from = math.max(there.settled + 1, there.base) - there.base
  local to = there.end_of() - there.base
  if from > to then
    return
  end
  local first, last = math.floor(from / 8), math.floor(to / 8)
  local new = 2 ^ (8 - from % 8)
  local byte = there.byte(first)
  call('SETRANGE', KEY.there_all, first,
       string.char(byte - byte % new + new - 1)
       .. string.rep('\255', last - first))
end

-- the last number of which anything is known
function there.end_of()
  return math.min(math.max(there.settled, v.next), there.base + there.most - 1)
end

-- The table, from the counter to the last number: text of pairs, of bytes and
-- how many are there in them, or of 0 and the one byte.  One byte is told as it
-- is; more are, where no more are in them than a 32nd of those ahead, or where
-- all are, or none.
function there.table()
  local text, sum = {}, 0
  local from = math.max(v.serving + 1, there.base)
  local to = there.end_of()
  local first = math.floor((from - there.base) / 8)
  there.first = there.base + first * 8
  if to < from then
    return ''
  end
  local ones = {}

  local function put(bytes, n)
    text[#text + 1] = bytes
    text[#text + 1] = n
  end

  local function count_of(byte)
    local n = ones[byte]
    if not n then
      n = 0
      local rest = byte
      while rest > 0 do
        n, rest = n + rest % 2, math.floor(rest / 2)
      end
      ones[byte] = n
    end
    return n
  end

  local function part(a, b, n)
    local bytes = b - a + 1
    if bytes > 1
       and (n == 0 or n == bytes * 8 or n <= sum / 32 or #text > 3800)
    then
      sum = sum + n
      put(bytes, n)
    elseif bytes <= 8 then
      local all = call('GETRANGE', KEY.there_all, a, b)
      for i = 1, bytes do
        local byte = string.byte(all, i) or 0
        sum = sum + count_of(byte)
        put(0, byte)
      end
    else
      local middle = math.floor((a + b) / 2)
      local half = call('BITCOUNT', KEY.there_all, a, middle)
      part(a, middle, half)
      part(middle + 1, b, n - half)
    end
  end

  -- the last byte may have numbers that will be given out later
  local last = math.floor((to - there.base) / 8)
  if last > first then
    part(first, last - 1, call('BITCOUNT', KEY.there_all, first, last - 1))
  end
  local over = 7 - (to - there.base) % 8
  local byte = there.byte(last)
  put(0, byte - byte % 2 ^ over + 2 ^ over - 1)
  return table.concat(text, ' ')
end

function there.recount()
  local some = there.even(there.wheel)
  if #some > 0 then
    call('BITOP', 'OR', KEY.there_all, unpack(some))
  else
    call('DEL', KEY.there_all)
  end
  there.count_new()
  if there.left == 1 then
    if call('EXISTS', KEY.there_left) == 1 then
      there.less(KEY.there_all, KEY.there_left)
      call('DEL', KEY.there_tmp)
    else
      there.left = 0
    end
  end
  there.keep(KEY.there_all)
  there.counted = v.us
  call('HSET', KEY.there, 'table', there.was_known == 1 and there.table() or '')
end

-- Takes what the host tells, and counts again if it is time to.  The counter
-- moves by that, after it.
function there.step()
  if ARG.there_host == '0' or v.active == 0 or v.activation == 0 then
    return
  end
  there.load()
  if there.new then
    call('DEL', KEY.there, KEY.there_all, KEY.there_left, KEY.there_heard,
         unpack(there.wheel))
  end
  if v.us - there.last > there.late and v.idle < there.last
     or v.us < there.last - there.late or ARG.there_blind == '1'
  then
    -- nobody has told for a while, or not all have
    there.since = v.us
  end
  there.last = v.us
  local missing = there.hear_of(ARG.there_host)
  there.move_base()
  there.lapse()
  if ARG.there_of == v.int(there.of) then
    there.hear()
  end
  if v.us - there.mark_at >= there.fresh or v.us < there.mark_at then
    there.settled, there.mark, there.mark_at = there.mark, v.next, v.us
  end
  there.was_known = (v.us - there.since >= there.over
                     and v.us - v.older >= there.over and not missing)
                    and 1 or 0
  if v.us - there.counted >= there.pace or v.us < there.counted then
    there.recount()
  end
  there.save()
end

-- The counter goes on though Redis refuses some of it.
function there.try()
  if not pcall(there.step) then
    there.refused = true
  end
end
