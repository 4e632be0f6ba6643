-- What was measured of a backend: what hosts told in the last seconds, and what is
-- read from it; put into follow.lua.

-- ms: what is looked at
local WINDOW = 5000

-- requests in a window that decide anything; of them those that count, at least;
-- and of which the newest are enough
local FEW, SOME, ENOUGH = 20, 10, 100

-- ms after which a host tells of a request that it waits
local LONG = 500

-- parts of a window, and bins of times
local PARTS, BINS = 12, 128

-- requests of a visitor from which on the last ones come much later
local MANY = 4

-- parts in which those who enter come to the backend
local COMING = 3

local DATA = { 'requests', 'counted', 'failed', 'failed_top', 'slow_top',
               'failed_users', 'users', 'retry', 'retry_users',
               'retry_seconds', 'late', 'hung' }

local now = { ARG.requests + 0, ARG.counted + 0, ARG.failed + 0,
              ARG.failed_top + 0, ARG.slow_top + 0, ARG.failed_users + 0,
              ARG.users + 0, ARG.retry + 0, ARG.retry_users + 0,
              ARG.retry_seconds + 0,
              -- without one user, whom all hosts may have
              math.max(ARG.late - 1, 0), math.max(ARG.hung - 1, 0) }

-- Beside them at the end of a part, where hosts of before, which do not know it,
-- look for nothing.
local retry_top = ARG.retry_top + 0

-- And beside the part, likewise not looked for: requests that wait, and how many
-- entered a second.
local waiting = math.max(ARG.waiting - 1, 0)

-- A part of a window is a list: when it ended, how long it was, ms, the sums, and
-- bins with what is in them; and retry_top.
function f.add(sum, part, waits)
  local sums, bins = 2 + #DATA, sum.bins
  sum.n = sum.n + 1
  for i = 1, sums do
    sum[i] = (sum[i] or 0) + part[i]
  end
  for i = sums + 1, #part - 1, 2 do
    local bin = part[i]
    bins[bin] = (bins[bin] or 0) + part[i + 1]
  end
  sum.waiting = sum.waiting + (waits or 0)
  -- of a host of before it is not known: of all failures then
  sum.retry_top = sum.retry_top
                  + ((#part - sums) % 2 == 1 and part[#part] or part[6])
end

function f.part(sum)
  local part = {}
  for i = 1, 2 + #DATA do
    part[i] = sum[i] or 0
  end
  for bin, n in pairs(sum.bins) do
    part[#part + 1] = bin
    part[#part + 1] = n
  end
  part[#part + 1] = sum.retry_top
  return cmsgpack.pack(part, sum.waiting, sum.entered or 0)
end

function f.report()
  local part = { 0, 0, unpack(now) }
  for bin, n in string.gmatch(ARG.bins, '(%d+) (%d+)') do
    part[#part + 1] = math.min(bin + 0, BINS - 1)
    part[#part + 1] = n + 0
  end
  part[#part + 1] = retry_top
  return part
end

function f.sum()
  return { bins = {}, n = 0, retry_top = 0, waiting = 0 }
end

function f.named(sum)
  for i, name in ipairs(DATA) do
    sum[name] = sum[2 + i] or 0
  end
  sum.span = math.max(sum[2] or 0, 1)
  -- how many there are at a time
  local n = math.max(sum.n, 1)
  sum.late, sum.hung = math.floor(sum.late / n), math.floor(sum.hung / n)
  sum.waiting = sum.waiting / n
  return sum
end

-- What came since the last decision; what is too old is forgotten.
function f.gather()
  local open = f.sum()
  if kept[1] and us - f.at < WINDOW * 1000 and us >= f.at then
    f.add(open, cmsgpack.unpack(kept[1]))
  end
  f.add(open, f.report(), waiting)
  return open
end

-- Five windows: all of the last 5 s, of the parts since the last cut the newest
-- that are enough, two at least, and of these the newest with a few: what is over
-- is over; the last two; and those since it began to be too much.
function f.windows()
  local all, new, last, two = f.sum(), f.sum(), f.sum(), f.sum()
  local busy, coming, names = f.sum(), {}, {}
  for i = 0, PARTS - 1 do
    names[i + 1] = 'part' .. (f.parts - i) % PARTS
  end
  local parts, n = call('HMGET', KEY.follow, unpack(names)), 0
  for _, packed in ipairs(parts) do
    local part, waits, entered = { 0 }
    if packed then
      part, waits, entered = cmsgpack.unpack(packed)
    end
    local ended = part[1]
    if ended > ms or ended <= ms - WINDOW then
      break
    end
    f.add(all, part, waits)
    if all.n <= 2 then
      f.add(two, part, waits)
      two.least = waits and math.min(two.least or waits, waits)
      two.now = two.now or waits
      two.last = two.last or 1000 * (part[4] - part[5]) / part[2]
    end
    if ended > f.since then
      f.add(busy, part, waits)
    end
    if all.n <= COMING then
      coming[all.n] = { entered or 0, part[2] }
    end
    if ended > f.from and (n < 2 or (new[4] or 0) < ENOUGH) then
      f.add(new, part, waits)
      n = n + 1
      if (last[4] or 0) < SOME then
        f.add(last, part, waits)
      end
    end
  end
  f.coming = coming
  return f.named(all), f.named(new), f.named(last), f.named(two), f.named(busy)
end

-- How many enter a second, by the counter: smoothed over some decisions.  It may call
-- more than those who come, but as fast as the rate in force come, which is told then.
function f.note_entering(span)
  local entered = f.served - f.serving
  f.serving = f.served
  if not f.room or entered < 0 or span >= WINDOW then
    return 0
  end
  local rate = math.min(entered * 1000000 / math.max(span, 1),
                        f.rate >= 0 and f.rate or f.rate_most)
  -- what was held for a moment says nothing
  local by = f.held == 1 and 0 or f.entering > 0 and 0.3 or 1
  f.entering = math.floor(f.entering + by * (rate - f.entering))
  return rate
end

-- How many requests came to the backend, for how many who entered, and for how
-- many who were inside: the last quarter of a minute counts for most.
function f.note_came(open)
  local span = open[2] / 1000
  local came = open[4] + open.waiting - f.waiting
  f.waiting = open.waiting
  f.came = math.max(0, KEPT * f.came + 1000 * came)
  f.let_in = KEPT * f.let_in + span * f.entering
  -- who is inside and waits asks for less
  if f.cuts == 0 and f.stopped == 0 then
    f.asked_for = math.max(0, KEPT * f.asked_for + 1000 * came)
    f.inside = KEPT * f.inside + span * 1000 * f.users
  end
end

-- What a limit can be where the backend answers so many a second; -1: not known.
function f.takes(name, good, least)
  local used, came = f.let_in, f.came
  if name == 'threshold' then
    used, came = f.inside, f.asked_for
  end
  if came < 1000 * (least or ENOUGH) or used <= 0 then
    return -1
  end
  return TRUST * good * used / came
end

-- Whether visitors bring so many requests that they come for long.  A room that is
-- off lets nobody in, which says nothing.
function f.come_long()
  return f.room and f.let_in > 0 and f.came > MANY * f.let_in
end

-- How long, ms, who asks now will wait, where so many have waited for LONG: as many
-- wait besides as come while the last answers took, up to that.  A few that take
-- long are a few; where nothing comes out it is long.
function f.wait_of(two, waits)
  local n, sum = 0, 0
  for bin, count in pairs(two.bins) do
    n, sum = n + count, sum + count * math.min(2 ^ ((bin + 0.5) / 8), LONG)
  end
  return (n > 0 and sum / n or LONG)
         + 1000 * math.max(0, waits) / math.max(two.last, 1)
end

-- The same without chance; -1: not known.
function f.delay(two)
  local n = two.least
  if not n or two.n < 2 or two.span > 4 * STEP
     or n == 0 and next(two.bins) == nil
  then
    return -1
  end
  return f.wait_of(two, n - math.sqrt(n))
end

function f.delivered(sum)
  return (sum.counted - sum.failed) * 1000000 / sum.span
end

-- Whether so many have begun to wait since the decision before, by more than
-- chance, that who asks now will wait for too long.
function f.is_sudden(two)
  local n = two.now or 0
  return n > 0 and ARG.latency ~= '0'
         and f.wait_of(two, n - 2 * math.sqrt(n)) > 1.5 * ARG.latency
end

-- The time, us, that such a share is slower than, without the slowest of one user;
-- -1: there is none.  Users who have waited for long are slow ones.  doubt: by how
-- many sigmas of chance more may be slower.
function f.percentile(sum, doubt, share)
  local n, top = sum.late, 0
  for bin, count in pairs(sum.bins) do
    n = n + count
    top = math.max(top, bin)
  end
  if n == 0 then
    return -1
  end
  local beyond = (n - math.min(sum.slow_top, n)) * (share or 0.05)
  beyond = beyond + doubt * math.sqrt(beyond) + sum.slow_top - sum.late
  local late = 0
  if beyond < 0 then
    beyond, late = 0, math.max(2 * ARG.latency, 1000) * 1000
  end
  for bin = top, 0, -1 do
    beyond = beyond - (sum.bins[bin] or 0)
    if beyond < 0 then
      return math.max(late, math.floor(1000 * 2 ^ ((bin + 0.5) / 8)))
    end
  end
  return late
end

-- How many more failures there are than such a share of them, and chance, are;
-- without those of one user.
function f.failing(sum, share)
  local top = math.min(sum.failed_top, sum.failed)
  local most = share * (sum.counted - top)
  return sum.failed - top - most - math.sqrt(most)
end
