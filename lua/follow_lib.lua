-- What was measured of a backend: what hosts told in the last seconds, and what is
-- read from it; put into follow.lua.

-- ms: what is looked at
local WINDOW = 5000

-- requests in a window that decide anything, and of which the newest are enough
local FEW, ENOUGH = 20, 100

-- parts of a window, and bins of times
local PARTS, BINS = 12, 128

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

-- A part of a window is a list: when it ended, how long it was, ms, the sums, and
-- bins with what is in them; and retry_top.
function f.add(sum, part)
  local sums, bins = 2 + #DATA, sum.bins
  sum.n = sum.n + 1
  for i = 1, sums do
    sum[i] = (sum[i] or 0) + part[i]
  end
  for i = sums + 1, #part - 1, 2 do
    local bin = part[i]
    bins[bin] = (bins[bin] or 0) + part[i + 1]
  end
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
  return cmsgpack.pack(part)
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
  return { bins = {}, n = 0, retry_top = 0 }
end

function f.named(sum)
  for i, name in ipairs(DATA) do
    sum[name] = sum[2 + i] or 0
  end
  sum.span = math.max(sum[2] or 0, 1)
  -- how many there are at a time
  local n = math.max(sum.n, 1)
  sum.late, sum.hung = math.floor(sum.late / n), math.floor(sum.hung / n)
  return sum
end

-- What came since the last decision; what is too old is forgotten.
function f.gather()
  local open = f.sum()
  if kept[1] and us - f.at < WINDOW * 1000 and us >= f.at then
    f.add(open, cmsgpack.unpack(kept[1]))
  end
  f.add(open, f.report())
  return open
end

-- Four windows: all of the last 5 s, of the parts since the last cut the newest
-- that are enough, two at least, and of these the newest with a few: what is over
-- is over; and the last two.
function f.windows()
  local all, new, last, two = f.sum(), f.sum(), f.sum(), f.sum()
  local names = {}
  for i = 0, PARTS - 1 do
    names[i + 1] = 'part' .. (f.parts - i) % PARTS
  end
  local parts, n = call('HMGET', KEY.follow, unpack(names)), 0
  for _, packed in ipairs(parts) do
    local part = packed and cmsgpack.unpack(packed) or { 0 }
    local ended = part[1]
    if ended > ms or ended <= ms - WINDOW then
      break
    end
    f.add(all, part)
    if all.n <= 2 then
      f.add(two, part)
    end
    if ended > f.from and (n < 2 or (new[4] or 0) < ENOUGH) then
      f.add(new, part)
      n = n + 1
      if (last[4] or 0) < FEW then
        f.add(last, part)
      end
    end
  end
  return f.named(all), f.named(new), f.named(last), f.named(two)
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
