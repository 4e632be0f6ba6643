-- @include queue_lib.lua
--
-- One step of the schedule.  Any number of workers and hosts may run it:
-- what expired is taken back by whoever comes first, and admissions happen
-- once per admit_interval.  Everything is bounded; the answer says whether
-- more is left to do at once.

local EXPIRED_MAX, STALE_MAX, REVOKED_MAX = 1000, 1000, 1000
local CLEAN_INTERVAL = 30000
local DAY = 86400000000

-- the time of the latest revocation that the host knows
local since = num(17)

local more = 0


local function drop_old(key, before)
  local old = call('ZRANGEBYSCORE', key, '-inf', int(before), 'LIMIT', 0,
                   STALE_MAX)
  if #old > 0 then
    call('ZREM', key, unpack(old))
  end
  if #old == STALE_MAX then
    more = 1
  end
end

local function take_back_expired()
  local gone = call('ZRANGEBYSCORE', ACTIVE, '-inf', int(ms), 'LIMIT', 0,
                    EXPIRED_MAX)
  for _, user in ipairs(gone) do
    expire_active(user)
  end
  if #gone == EXPIRED_MAX then
    more = 1
  end
end

local function let_go()
  for _, user in ipairs(call('ZRANGEBYSCORE', LEAVING, '-inf', int(ms),
                             'LIMIT', 0, 100))
  do
    depart(user)
  end
end

local function clean_up()
  local stale = call('ZRANGEBYSCORE', SEEN, '-inf', int(ms - seen_ttl),
                     'LIMIT', 0, STALE_MAX)
  for _, user in ipairs(stale) do
    drop_waiting(user, tonumber(call('ZSCORE', QUEUE, user) or 1))
  end

  drop_old(DONE, now_clock() - DAY)
  drop_old(REVOKED, now_clock() - (token_ttl + 60000) * 1000)

  if #stale == STALE_MAX then
    more = 1
  elseif more == 0 then
    call('HSET', STATE, 'clean', int(ms))
  end
end

-- Lets in from the head of the line, those who are gone dropped first.
local function let_in()
  local want = math.min(admit_batch, threshold() - counted())
  local admitted, looked = 0, 0

  while admitted < want and looked < admit_batch + STALE_MAX do
    local head = call('ZRANGE', QUEUE, 0, want - admitted - 1, 'WITHSCORES')
    if #head == 0 then
      break
    end
    for i = 1, #head, 2 do
      local user, score = head[i], tonumber(head[i + 1])
      local seen = tonumber(call('ZSCORE', SEEN, user) or 0)
      drop_waiting(user, score)
      if paused or ms - seen <= seen_ttl then
        admit(user, false)
        admitted = admitted + 1
      end
      looked = looked + 1
    end
  end

  return admitted
end

-- Admissions per second, times 1000, over 1, 5 and 15 minutes, each window
-- no longer than there has been anything to measure.
local function measure(admitted)
  local bucket = math.floor(ms / 10000)
  if admitted > 0 then
    call('HINCRBY', RATE, int(bucket), admitted)
    touch(RATE)
  end

  local counts = call('HGETALL', RATE)
  if #counts == 0 then
    return
  end

  local windows = { { 6, 0.5, 0 }, { 30, 0.3, 0 }, { 90, 0.2, 0 } }
  local first = bucket
  for i = 1, #counts, 2 do
    local at, n = tonumber(counts[i]), tonumber(counts[i + 1])
    if bucket - at >= 90 or at > bucket then
      call('HDEL', RATE, counts[i])
    else
      first = math.min(first, at)
      for _, w in ipairs(windows) do
        if bucket - at < w[1] then
          w[3] = w[3] + n
        end
      end
    end
  end

  local sum, weights = 0, 0
  for _, w in ipairs(windows) do
    if w[3] > 0 then
      local from = math.max(first, bucket - w[1] + 1) * 10000
      sum = sum + w[2] * w[3] * 1000 / math.max((ms - from) / 1000, 1)
      weights = weights + w[2]
    end
  end

  rate = weights > 0 and math.max(1, math.floor(sum / weights + 0.5)) or 0
  call('HSET', STATE, 'rate', int(rate))
end


-- The answer, with the revocations that are news to the host.
local function told(...)
  local answer = reply(...)
  local news = call('ZRANGEBYSCORE', REVOKED, '(' .. int(since), '+inf',
                    'WITHSCORES', 'LIMIT', 0, REVOKED_MAX)
  for i = 2, #news, 2 do
    news[i] = tonumber(news[i])
  end
  answer[#answer + 1] = news
  if #news == 2 * REVOKED_MAX then
    answer[9] = 1
  end
  return answer
end


hear_host()
touch_all()

local users = call('ZCARD', QUEUE) + call('ZCARD', ACTIVE)

if users == 0 and call('ZCARD', LEAVING) == 0 and not restoring() then
  return told(NOT_IN)
end

live()

-- The first write: where writes are refused nothing is taken from anybody,
-- and the time without a step shows afterwards.
local due = last_step == 0
            or math.floor(ms / admit_interval)
               ~= math.floor(last_step / admit_interval)
if due or ms - last_step >= 1000 then
  call('HSET', STATE, 'step', int(ms))
end

if behind then
  slack = slack + math.max(ms - last_step, 0)
  call('HSET', STATE, 'gap', int(ms + GAP_PAUSE), 'slack', int(slack),
       'slack_at', int(now_clock()))
end

if not paused then
  take_back_expired()
  let_go()
  if ms - last_clean >= CLEAN_INTERVAL or ms < last_clean then
    clean_up()
  end
end

local admitted = 0
if due and not restoring() then
  admitted = let_in()
  if admitted > 0 then
    touch(ACTIVE, ADMITTED, STREAM, STATE)
  end
end
if due then
  measure(admitted)
end

return told(WAITING, admitted, more)
