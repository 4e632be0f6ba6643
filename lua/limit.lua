-- Sliding windows: charges one request to all of them or, if one that is not
-- there for a trial is full, to none.
--
-- KEYS: the windows.  ARGV, four for each: "l" (log) or "c" (counter), the
-- quota, the length of the window in ms, and "1" for a trial (dry_run).
--
-- Returns the time of what was charged, us; then for each window how many
-- requests are left (-1: it was full already), and in how many ms the oldest
-- counted one leaves it or, if it is full, there is room for another.
--
-- log: a ZSET of the requests in the window, by their times in us, which are
-- both score and member.  counter: a HASH of the start of a bucket as long as
-- the window, ms, and how many requests were in it and in the one before; of
-- the latter as many count as if they had been spread evenly.

local call, floor, ceil = redis.call, math.floor, math.ceil

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = floor(us / 1000)

-- A window of the other algorithm gives way.
local function read(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if reply.err then
    if not reply.err:find('WRONGTYPE', 1, true) then
      error(reply.err)
    end
    call('DEL', key)
    return {}
  end
  return reply
end

local answer = { us }
local buckets = {}
local refused = false

for i, key in ipairs(KEYS) do
  local a = 4 * i
  local quota, window = ARGV[a - 2] + 0, ARGV[a - 1] + 0
  local left, wait

  if ARGV[a - 3] == 'l' then
    local n = 0
    local oldest = tonumber(read('ZRANGE', key, 0, 0, 'WITHSCORES')[2])

    if oldest and oldest > us then

      -- The clock went back by more than a window: they are of just now.

      n = call('ZCARD', key)
      call('DEL', key)
      for j = 1, n do
        call('ZADD', key, us - n + j, us - n + j)
      end
      call('PEXPIRE', key, window)
      oldest = us - n + 1

    elseif oldest then
      if oldest <= us - window * 1000 then
        call('ZREMRANGEBYSCORE', key, '-inf', us - window * 1000)
        oldest = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
      end
      n = oldest and call('ZCARD', key) or 0
    end

    left = quota - n

    if left < 0 then
      -- the limit was higher before
      oldest = call('ZRANGE', key, -left, -left, 'WITHSCORES')[2] + 0
    end

    wait = ceil(((oldest or us) + window * 1000 - us) / 1000)

  else
    local b = read('HMGET', key, 's', 'c', 'p')
    local start = tonumber(b[1]) or ms
    local current, previous = tonumber(b[2]) or 0, tonumber(b[3]) or 0

    if start > ms then
      -- The clock went back: what is refused is remembered, too.
      start = ms
      call('HSET', key, 's', start)
      call('PEXPIRE', key, 2 * window)
    end

    if ms - start >= 2 * window then
      start, current, previous = ms, 0, 0
    elseif ms - start >= window then
      start, current, previous = start + window, 0, current
    end

    local rest = window - (ms - start)

    -- the one before counts for previous * rest / window
    left = floor(quota - current - previous * rest / window)
    wait = rest

    if left < 1 then
      if current < quota then
        wait = rest - floor((quota - 1 - current) * window / previous)
      else
        wait = rest + window - floor((quota - 1) * window / current)
      end
    end

    buckets[i] = { start, current, previous }
  end

  if left < 1 then
    left = -1
    refused = refused or ARGV[a] ~= '1'
  end

  answer[2 * i], answer[2 * i + 1] = left, wait
end

if refused then
  return answer
end

for i, key in ipairs(KEYS) do
  if answer[2 * i] > 0 then
    local b = buckets[i]

    if b then
      call('HSET', key, 's', b[1], 'c', b[2] + 1, 'p', b[3])
      call('PEXPIRE', key, 2 * ARGV[4 * i - 1])
    else
      while call('ZADD', key, 'NX', us, us) == 0 do
        us = us + 1
      end
      answer[1] = us
      call('PEXPIRE', key, ARGV[4 * i - 1])
    end

    answer[2 * i] = answer[2 * i] - 1
  end
end

return answer
