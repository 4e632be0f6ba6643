-- Sliding windows: charges one request to all of them or, if one that is not
-- there for a trial is full, to none.
--
-- KEYS are the windows.  For each: "l" (log) or "c" (counter), the quota, the
-- length of the window in ms, and "1" for a trial (dry_run) or "0".  That is
-- followed by a time if the request was charged to this window then, by other
-- terms: it is taken back first.
-- each: algorithm quota window trial
--
-- Answers for each window the time of what was charged, us, how many requests
-- are left (-1: it was full already), and in how many ms the oldest counted
-- one leaves it or, if it is full, there is room for another.
-- reply: at left wait
--
-- log: a ZSET of the requests in the window, by their times in us, which are
-- both score and member.  counter: a HASH of the start of a bucket as long as
-- the window, ms, and how many requests were in it and in the one before; of
-- the latter as many count as if they had been spread evenly.
--
-- Commands get text where there is any: Redis takes longer to print a number
-- than to add a member.

local call, floor, ceil = redis.call, math.floor, math.ceil

local time = call('TIME')
local now = time[1] .. ('000000'):sub(#time[2] + 1) .. time[2]
local us = now + 0

local answer = { us, 0, 0 }         -- room for one, which most have
local buckets
local refused = false

for i = 1, #KEYS do
  local key = KEYS[i]
  local a = #EACH * i - #EACH
  local quota, window = ARG.quota[a] + 0, ARG.window[a] + 0
  local log = ARG.algorithm[a] == 'l'
  local trial = ARG.trial[a]
  local left, wait

  if #trial > 1 then
    local at, failed = trial:sub(2), false
    trial = trial:sub(1, 1)

-- @include limit_lib.lua

    if failed then
      return failed
    end
  end

  -- A key of another type, or of another algorithm, gives way.

  local had
  if log then
    had = redis.pcall('ZRANGE', key, '0', '0')
  else
    had = redis.pcall('HMGET', key, 's', 'c', 'p')
  end

  if had.err then
    if not had.err:find('^WRONGTYPE ') then
      return had
    end
    call('DEL', key)
    had = {}
  end

  if log then
    local oldest = tonumber(had[1])
    local n = 0

    if oldest and oldest > us and oldest % 1 == 0 then

      -- The clock went back by more than a window: requests count as of now.
      -- Of very many some are forgotten, so that it does not take long.

      n = math.min(call('ZCARD', key), quota, 1000)
      call('DEL', key)
      for j = us - n + 1, us do
        call('ZADD', key, j, string.format('%.0f', j))
      end
      call('PEXPIRE', key, window)
      oldest = us - n + 1

    elseif had[1] then
      local since = us - window * 1000
      local first = had[1]

      if oldest and oldest <= since then
        call('ZREMRANGEBYSCORE', key, '-inf', since)
        first = call('ZRANGE', key, '0', '0')[1]
        oldest = tonumber(first)
      end

      if oldest and oldest > since and oldest % 1 == 0 then
        n = call('ZCARD', key)

      elseif first then
        -- a member that is not a time was not written here
        call('DEL', key)
        oldest = nil
      end
    end

    left = quota - n

    if left < 0 then
      -- the limit was higher before
      oldest = tonumber(call('ZRANGE', key, -left, -left)[1])
    end

    wait = ceil(((oldest or us) + window * 1000 - us) / 1000)

  else
    local ms = floor(us / 1000)
    local start = tonumber(had[1])
    local current, previous = tonumber(had[2]) or 0, tonumber(had[3]) or 0
    local turned = true

    -- numbers with a fraction were not written here

    if not start or (start + current + previous) % 1 ~= 0 then
      start, current, previous = ms, 0, 0

    elseif start > ms then
      -- The clock went back: refused requests are remembered as well.
      start = ms
      call('HSET', key, 's', start)
      call('PEXPIRE', key, 2 * window)

    elseif ms - start >= 2 * window then
      start, current, previous = ms, 0, 0

    elseif ms - start >= window then
      start, current, previous = start + window, 0, current

    else
      turned = false
    end

    local rest = window - (ms - start)

    -- the last bucket counts for previous * rest / window
    left = floor(quota - current - previous * rest / window)
    wait = rest

    if left < 1 then
      if current < quota then
        wait = rest - floor((quota - 1 - current) * window / previous)
      else
        wait = rest + window - floor((quota - 1) * window / current)
      end
    end

    if turned then
      buckets = buckets or {}
      buckets[i] = { start, previous, current }
    end
  end

  if left < 1 then
    left = -1
    refused = refused or trial ~= '1'
  end

  local to = #REPLY * i - #REPLY
  answer[to + REPLY.at] = us
  answer[to + REPLY.left] = left
  answer[to + REPLY.wait] = wait
end

if refused then
  return answer
end

for i = 1, #KEYS do
  local key = KEYS[i]
  local a = #EACH * i - #EACH
  local to = #REPLY * i - #REPLY
  local left = answer[to + REPLY.left]

  if left > 0 then

    if ARG.algorithm[a] == 'l' then
      while call('ZADD', key, 'NX', now, now) == 0 do
        us = us + 1
        now = string.format('%.0f', us)
      end
      answer[to + REPLY.at] = us

    else
      local b = buckets and buckets[i]
      if b then
        call('HSET', key, 's', b[1], 'p', b[2], 'c', b[3] + 1)
      else
        call('HINCRBY', key, 'c', '1')
      end
    end

    -- no window stays for ever: a key that was there expires by itself

    local ends = redis.pcall('PEXPIRE', key, ARG.algorithm[a] == 'l'
                                             and ARG.window[a]
                                             or 2 * ARG.window[a])
    if type(ends) == 'table' then
      if left + 0 == ARG.quota[a] + 0 then
        call('DEL', key)
      end
      return ends
    end

    answer[to + REPLY.left] = left - 1
  end
end

return answer
