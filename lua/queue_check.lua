-- @include queue_lib.lua
--
-- A user joins, or asks how it stands: each call is a heartbeat, and one
-- that shows a place that counts puts its holder back into the line.

local user, mode = ARGV[17], ARGV[18]

-- tier 1 token: time of the ticket, activation, until when it gives priority
local t1_at, t1_act, t1_until = num(19), ARGV[20], num(21)

-- entry token: when let in (us), exp (s)
local e_adm, e_exp = num(22), num(23)

local nplaces = num(24)

local CHECK, RESTORE = '0', '3'


-- The lowest score of the places that count: issued since their holder was
-- last let in or left, and since the queue was last cleared.
local function best_place(done)
  local best = 0
  for i = 0, nplaces - 1 do
    local score, at, life = num(25 + i * 3), num(26 + i * 3), num(27 + i * 3)
    clock = math.max(clock, at)
    if at > done and at > clear and at > e_adm then
      if best == 0 or score < best then
        best = score
      end
      if life ~= epoch then
        live()
        if at < epoch and us - epoch < restore_wait * 1000 then
          begin_restore()
        end
      end
    end
  end
  return best
end

-- No two users share a score: a tie would leave the order to the alphabet.
local function free_score(score)
  for _ = 1, 16 do
    local s = int(score)
    local holder = call('ZRANGEBYSCORE', QUEUE, s, s, 'LIMIT', 0, 1)[1]
    if not holder or holder == user then
      break
    end
    score = score + 2
  end
  return score
end

local function wait_at(score)
  note_busy()
  call('ZADD', QUEUE, int(score), user)
  call('ZADD', SEEN, int(ms), user)
  touch(QUEUE, SEEN, EPOCH, STATE)
  return reply(WAITING, call('ZRANK', QUEUE, user) + 1, score)
end

-- In at once only if nobody waits; expired slots count until taken back, a
-- few here, the others by the schedule.
local function enter()
  if restoring() or call('ZCARD', QUEUE) > 0 then
    return nil
  end
  if not paused then
    for _, gone in ipairs(call('ZRANGEBYSCORE', ACTIVE, '-inf', int(ms),
                               'LIMIT', 0, 16))
    do
      expire_active(gone)
    end
  end
  if counted() >= threshold() then
    return nil
  end
  note_busy()
  local adm, expires = admit(user, true)
  touch(ACTIVE, ACTIVE_SEEN, ADMITTED, DONE, STREAM, EPOCH, STATE)
  return reply(ACTIVE_IN, 0, 0, adm, expires)
end

-- The score of a tier 1 token; 0: it gives no priority; nil: another has it
local function ticket_score(done)
  if t1_at == 0 or t1_at <= done or t1_at > now_clock()
     or now_clock() > t1_until or call('HGET', VWR, 'activation') ~= t1_act
  then
    return 0
  end
  local at, score = int(t1_at), int(2 * t1_at)
  local holder = call('HGET', USED, at)
                 or call('ZRANGEBYSCORE', QUEUE, score, score)[1]
                 or call('ZRANGEBYSCORE', CLEARED, score, score)[1]
  if holder and holder ~= user then
    return nil
  end
  return 2 * t1_at
end

local function stay_active(expires)
  local adm = tonumber(call('ZSCORE', ADMITTED, user) or now_clock())
  local cap = session_end(adm)
  if paused then
    cap = math.max(cap, ms + GAP_PAUSE)
  end
  if ms >= cap then
    drop_active(user)
    return nil
  end
  expires = math.min(ms + active_ttl, cap)
  call('ZADD', ACTIVE, int(expires), user)
  call('ZADD', ACTIVE_SEEN, int(ms), user)
  if tonumber(call('ZSCORE', DONE, user) or 0) < adm then
    call('ZADD', DONE, int(tick()), user)
    touch(ACTIVE_SEEN, DONE)
  end
  return reply(ACTIVE_IN, 0, 0, adm, expires)
end

local function stay_waiting(score)
  if nplaces > 0 then
    local place = best_place(tonumber(call('ZSCORE', DONE, user) or 0))
    if place > 0 and place < score then
      remember_position(user, score)
      score = free_score(place)
      call('ZADD', QUEUE, int(score), user)
    end
  end
  call('ZADD', SEEN, int(ms), user)
  return reply(WAITING, call('ZRANK', QUEUE, user) + 1, score)
end

-- A token ends before its slot does, or is revoked: one that is neither, and
-- has no slot, shows that data was lost, and is the slot.
local function restore_slot()
  if e_adm == 0 or e_adm <= clear or e_exp * 1000 <= ms
     or tonumber(call('ZSCORE', REVOKED, user) or 0) >= e_adm
  then
    return
  end
  clock = math.max(clock, e_adm)
  live()
  if e_adm < epoch and us - epoch < restore_wait * 1000 then
    begin_restore()
  end
  call('ZREM', QUEUE, user)
  call('ZREM', SEEN, user)
  call('ZADD', ACTIVE, int(e_exp * 1000), user)
  call('ZADD', ADMITTED, int(e_adm), user)
  call('ZADD', ACTIVE_SEEN, int(ms), user)
  if tonumber(call('ZSCORE', DONE, user) or 0) < e_adm then
    call('ZADD', DONE, int(e_adm), user)
  end
  touch(ACTIVE, ADMITTED, ACTIVE_SEEN, DONE)
end


hear_host()
touch_all()

if call('ZCARD', LEAVING) > 0 then
  call('ZREM', LEAVING, user)
end

local expires = call('ZSCORE', ACTIVE, user)
if not expires then
  restore_slot()
  expires = call('ZSCORE', ACTIVE, user)
end

if mode == RESTORE then
  return reply(expires and ACTIVE_IN or NOT_IN)
end

if expires then
  local answer = stay_active(tonumber(expires))
  if answer then
    return answer
  end
end

local score = tonumber(call('ZSCORE', QUEUE, user) or 0)
if score > 0 then
  return stay_waiting(score)
end

local done = 0
if nplaces > 0 or t1_at > 0 then
  done = tonumber(call('ZSCORE', DONE, user) or 0)
end

local place = best_place(done)

if mode ~= CHECK then
  if place > 0 then
    return wait_at(free_score(place))
  end
  return reply(NOT_IN)
end

if place == 0 then
  score = ticket_score(done)
  if not score then
    return reply(POSITION_USED)
  end
end

live()

local answer = enter()
if answer then
  if place == 0 and score > 0 then
    remember_position(user, score)
  elseif place > 0 then
    remember_position(user, place)
  end
  return answer
end

if place > 0 then
  return wait_at(free_score(place))
end

if score > 0 then
  return wait_at(score)
end

return wait_at(2 * tick() + 1)
