-- What the queue scripts share; put in front of each of them.
--
-- The event's clock (us) dates everything: it is Redis's time, but never
-- goes back and never gives the same time twice, whatever failover or
-- restart does to Redis's clock, as far as anyone who calls knows better.
-- Plain Redis time (us, ms) only measures what expires.
--
-- Numbers stay below 2^53, where Lua's are exact, and are printed in full.

local QUEUE, ACTIVE, SEEN, ACTIVE_SEEN = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local DONE, REVOKED, THRESHOLD, EPOCH = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local STATE, ADMITTED, USED, CLEARED = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local LEAVING, RATE, VWR, STREAM = KEYS[13], KEYS[14], KEYS[15], KEYS[16]

local WEEK = 604800
local GAP, JUMP, GAP_PAUSE = 10000, 30000, 120000
local BEACON = 10000

local NOT_IN, WAITING, ACTIVE_IN, POSITION_USED = 0, 1, 2, 3

local call = redis.call

local function num(n)
  return tonumber(ARGV[n]) or 0
end

local function int(n)
  return string.format('%.0f', n)
end

local event = ARGV[1]
local active_ttl, session_max, claim_ttl = num(3), num(4), num(5)
local seen_ttl, restore_wait = num(6), num(7)
local admit_interval, admit_batch = num(8), num(9)
local token_ttl, stream = num(10), ARGV[11] == '1'

-- what the host that calls knows of the event; 0 (threshold: -1) for nothing
local host_epoch, host_clock, host_active = num(12), num(13), num(14)
local host_clear, host_threshold = num(15), num(16)

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

local st = call('HMGET', STATE, 'clock', 'clear', 'restore', 'gap', 'rate',
                'floor', 'floor_until', 'left', 'touched', 'step', 'clean',
                'busy', 'slack', 'slack_at')
for i = 1, 14 do
  st[i] = tonumber(st[i] or 0) or 0
end

local clock = math.max(st[1], host_clock)
local clear = math.max(st[2], host_clear)
local restore, gap, rate = st[3], st[4], st[5]
local floor, floor_until, left = st[6], st[7], st[8]
local touched, last_step, last_clean = st[9], st[10], st[11]
local busy, slack, slack_at = st[12], st[13], st[14]

local epoch = tonumber(call('GET', EPOCH) or 0)

-- A time ahead, but not by more than it was ever set ahead: Redis's clock
-- may have gone back since.
local function ahead(till, by)
  return ms < till and till - ms <= by
end

-- No step for a while with users there, or a clock that jumped: heartbeats
-- could not be recorded, so clean-up and the ends of slots pause.
local behind = last_step ~= 0
               and (ms - math.max(last_step, busy) > GAP
                    or ms - last_step < -JUMP)
local paused = behind or ahead(gap, GAP_PAUSE)


local function now_clock()
  return math.max(us, clock)
end

-- a new time of the event's clock
local function tick()
  clock = math.max(us, clock + 1)
  call('HSET', STATE, 'clock', int(clock))
  return clock
end

local function touch(...)
  for _, key in ipairs({...}) do
    call('EXPIRE', key, WEEK)
  end
end

-- polls alone keep an event's keys as well, at the cost of a call an hour
local function touch_all()
  if epoch ~= 0 and (ms - touched > 3600000 or ms < touched) then
    call('HSET', STATE, 'touched', int(ms))
    touch(QUEUE, ACTIVE, SEEN, ACTIVE_SEEN, DONE, REVOKED, EPOCH, STATE,
          ADMITTED, USED, CLEARED, LEAVING, RATE, STREAM)
  end
end

-- The life of the data begins with the first that is written.
local function live()
  if epoch == 0 then
    epoch = tick()
    call('SET', EPOCH, int(epoch), 'EX', WEEK)
    touch(STATE)
  end
end

-- Somebody knows of an earlier life: the data was lost.  Once per epoch
-- nobody is let in for a while, so that those who had places find them.
local function begin_restore()
  if restore == 0 then
    restore = ms + restore_wait
    call('HSET', STATE, 'restore', int(restore))
  end
end

local function restoring()
  return ahead(restore, restore_wait)
end

-- A host that knew an earlier life tells what it knew, once.
local function hear_host()
  if host_epoch == 0 or host_epoch == epoch then
    return
  end
  live()
  begin_restore()
  if restoring() then
    if host_active > floor then
      floor = host_active
      floor_until = ms + active_ttl
      call('HSET', STATE, 'floor', int(floor), 'floor_until',
           int(floor_until))
    end
    if host_threshold >= 0 then
      call('SET', THRESHOLD, int(host_threshold), 'NX')
    end
  end
  if host_clear > st[2] then
    call('HSET', STATE, 'clear', int(host_clear))
  end
end

-- what the API set, -1: nothing; and what is in force
local api_threshold

local function threshold()
  if not api_threshold then
    api_threshold = tonumber(call('GET', THRESHOLD) or -1)
  end
  return api_threshold >= 0 and api_threshold or num(2)
end

-- An event without users is not stepped: that is no gap.
local function note_busy()
  if call('ZCARD', QUEUE) + call('ZCARD', ACTIVE) == 0 then
    call('HSET', STATE, 'busy', int(ms))
  end
end

-- When a session ends, however often it is renewed.  The time of a gap is
-- not charged to those who were in.
local function session_end(adm)
  return math.floor(adm / 1000) + session_max
         + (adm <= slack_at and slack or 0)
end

-- Active users for the purpose of letting in: after a loss at least as many
-- as hosts knew, less those who left, until their slots have run out.
local function counted()
  local n = call('ZCARD', ACTIVE)
  if ahead(floor_until, active_ttl) then
    n = math.max(n, floor - left)
  end
  return n
end

-- A position that leaves the queue stays its user's: nobody else may come
-- with it.  Even scores are positions (2 * at).
local function remember_position(user, score)
  if score % 2 == 0 then
    call('HSET', USED, int(score / 2), user)
    touch(USED)
  end
end

local function drop_waiting(user, score)
  call('ZREM', QUEUE, user)
  call('ZREM', SEEN, user)
  remember_position(user, score)
end

local function drop_active(user)
  call('ZREM', ACTIVE, user)
  call('ZREM', ACTIVE_SEEN, user)
  call('ZREM', ADMITTED, user)
end

-- Lets a user in.  A user who is not here must claim the slot in time.
local function admit(user, here)
  local adm = tick()
  local ttl = math.min(here and active_ttl or claim_ttl, session_max)
  call('ZADD', ACTIVE, int(ms + ttl), user)
  call('ZADD', ADMITTED, int(adm), user)
  if here then
    call('ZADD', ACTIVE_SEEN, int(ms), user)
    call('ZADD', DONE, int(adm), user)
  end
  if stream then
    -- a failure never blocks an admission
    redis.pcall('XADD', STREAM, 'MAXLEN', '~', '10000', '*',
                'action', 'admitted', 'eventId', event, 'userId', user,
                'timestamp', int(ms))
  end
  return adm, ms + ttl
end

-- A slot ran out.  One that was never claimed was not used: its token, if
-- there was one, ends with it, and the place of its user still counts.
local function expire_active(user)
  local adm = tonumber(call('ZSCORE', ADMITTED, user) or 0)
  if tonumber(call('ZSCORE', DONE, user) or 0) < adm then
    call('ZADD', REVOKED, int(tick()), user)
    touch(REVOKED)
  end
  drop_active(user)
end

-- A user goes, for good: neither place nor token counts any more.
local function depart(user)
  local t = tick()
  local score = tonumber(call('ZSCORE', QUEUE, user) or 0)
  if score ~= 0 then
    drop_waiting(user, score)
  else
    if ahead(floor_until, active_ttl) and call('ZSCORE', ACTIVE, user) then
      call('HINCRBY', STATE, 'left', 1)
    end
    drop_active(user)
    call('ZADD', REVOKED, int(t), user)
  end
  call('ZREM', LEAVING, user)
  call('ZADD', DONE, int(t), user)
  touch(DONE, REVOKED, STATE)
end

local function reply(state, position, score, adm, expires)
  return { state, position or 0, call('ZCARD', QUEUE), call('ZCARD', ACTIVE),
           threshold(), us, now_clock(), epoch, score or 0, adm or 0,
           expires or 0, rate > 0 and rate or -1, api_threshold, clear,
           restoring() and restore - ms or 0 }
end
