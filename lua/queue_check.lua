-- A user joins, or asks how it stands: each call is a heartbeat, and one
-- that shows a place that counts puts its holder back into the line.  Keys,
-- further arguments and the answer are those of queue_state_lib.lua.
--
-- mode: 0 check (joins), 1 status, 2 heartbeat, 3 restore (gives back the
-- session of an entry token, and no more), 4 report (0 of one without a tier 1
-- token), 5 away (1 of a page that nobody looks at: who was let in does not
-- come by it)
-- args: user mode
--
-- looks: 1 of a stream, which is heard and not seen: who was let in does not
-- come by it, and who lost a claim is passed over.
-- args: looks
--
-- The tier 1 token: the time of its ticket (us), the activation of the waiting
-- room that it is of, and until when it gives priority; 0: none is shown.
-- args: ticket ticket_activation ticket_until
--
-- The entry token: when its user was let in (us), when it ends (s); 0: none.
-- args: entry_adm entry_exp
--
-- Where joining needs a tier 1 token, its ticket's time: 0, or a token of an
-- older host, has none.  It may be another token than the one of "ticket".
-- args: pass
--
-- How many may wait (-1: any number), and for how long, ms (0: any time), for
-- one more to join the line; who is in it, comes by a place or enters at once
-- is not concerned.  unbound: 1 if nobody is refused, though all is sold.
-- args: max_queue max_wait unbound
--
-- The places that are shown: the score of each, the time of the clock, and the
-- epoch that it is of.
-- each: score at epoch

local call = redis.call

local CHECK, RESTORE, REPORT, AWAY = '0', '3', '4', '5'

local active = call('ZSCORE', KEY.active, ARG.user)
local score = call('ZSCORE', KEY.queue, ARG.user)

-- a place shown may be better than where the user stands
local lower = false
for i = #ARG, #ARGV - 1, #EACH do
  lower = lower or not score or ARG.score[i] + 0 < score + 0
end

-- @include queue_refusal_lib.lua

-- Most calls: one who waits asks, or a new one joins those who wait.  They
-- bring no entry token, a new one no tier 1 token, the host knows nothing that
-- Redis does not, and Redis was not away just before (see q.note_away).  The
-- little of the state that they need is read here by itself, which halves what
-- a call costs.  A new one is refused where all is sold: not here.
if not active and not lower and ARG.entry_adm == '0'
   and (score and ARG.mode ~= RESTORE
        or ARG.mode == CHECK and ARG.ticket == '0' and ARG.pass == '0')
then
  local size = call('ZCARD', KEY.queue)
  local set = call('MGET', KEY.epoch, KEY.threshold, KEY.slots, KEY.sold)
  local st = call('HMGET', KEY.state, 'clock', 'touched', 'beacon', 'rate',
                  'clear', 'restore', 'step', 'busy', 'settle',
                  'had', 'met', 'total', 'unsold')
  local time = call('TIME')
  local us = time[1] * 1000000 + time[2]
  local ms = math.floor(us / 1000)
  local clock, touched = (st[1] or 0) + 0, (st[2] or 0) + 0
  local last = math.max((st[7] or ms) + 0, (st[8] or 0) + 0)
  local settle = (st[9] or 0) - ms
  local far = us + 86400000000
  local host_ms = ARG.host_ms + 0
  local sold = (set[4] or 0) + 0
  local set_slots = set[3] and set[3] + sold or -1
  local seats = set_slots >= 0 and set_slots or ARG.slots + 0

  if size > 0 and set[1] and (score or ARG.order == '0')
     and ARG.host_sold + 0 <= sold
     and (score or seats < 0 or sold < seats or ARG.unbound == '1')
     and (ARG.wall == '0' or math.abs(ms - ARG.wall) <= 86400000)
     and clock <= far and set[1] + 0 <= far and (st[5] or 0) + 0 <= far
     and ARG.host_clock + 0 <= far and ARG.host_clear + 0 <= far
     and (not score or score / 2 <= far)
     and (ARG.host_epoch == '0'
          or ARG.host_epoch == set[1] and ARG.host_clock + 0 <= clock
             and (ARG.host_clock + 0 <= (st[10] or 0) + 0
                  or ARG.host_clock + 0 >= (st[11] or 0) + 0))
     and ms >= touched and ms - touched <= 3600000
     and (ms - last <= 1500
          or host_ms > 0 and host_ms - ARG.in_touch <= last
             and math.abs(ms - host_ms) <= 1500)
     and (settle <= 0 or settle > 1500)
  then
    local position
    local did = 0
    local rate = (st[4] or 0) + 0
    local refused = not score and refusal(size, size + 1, rate)

    if refused then
      position = 0

    elseif not score then
      -- later than all scores, so the user is the last in line
      clock = math.max(us, clock + 1, ARG.host_clock + 1)
      score = 2 * clock + 1
      size = size + 1
      position = size
      did = 1   -- JOINED
      call('HSET', KEY.state, 'clock', string.format('%.0f', clock))
    end

    if not refused then
      call('ZADD', KEY.seen, string.format('%.0f', ms), ARG.user)
    end
    if not refused and st[3] and st[3] ~= '0' then
      call('ZREM', KEY.leaving, ARG.user)
    end
    if did == 1 then
      -- last, so that a call that is refused leaves nobody in the line
      call('ZADD', KEY.queue, string.format('%.0f', score), ARG.user)
    end

    local set_threshold = (set[2] or -1) + 0
    local restore = (st[6] or 0) - ms

    -- as q.reply of queue_state_lib.lua
    return { [REPLY.state] = refused or 1,   -- WAITING
             [REPLY.position] = position
                                or call('ZRANK', KEY.queue, ARG.user) + 1,
             [REPLY.size] = size,
             [REPLY.active] = call('ZCARD', KEY.active),
             [REPLY.threshold] = set_threshold >= 0 and set_threshold
                                 or ARG.threshold + 0,
             [REPLY.us] = us,
             [REPLY.clock] = clock,
             [REPLY.epoch] = set[1] + 0,
             [REPLY.score] = (score or 0) + 0,
             [REPLY.adm] = 0,
             [REPLY.expires] = 0,
             [REPLY.rate] = rate > 0 and rate or -1,
             [REPLY.api_threshold] = set_threshold,
             [REPLY.clear] = math.max((st[5] or 0) + 0, ARG.host_clear + 0),
             [REPLY.restore] = restore > 0 and restore <= ARG.restore_wait + 0
                               and restore or 0,
             [REPLY.total] = (st[12] or 0) + 0,
             [REPLY.did] = did,
             [REPLY.lost] = 0,
             [REPLY.ended] = 0,
             [REPLY.unwritten] = 0,
             [REPLY.seats] = set_slots,
             [REPLY.sold] = st[13] and -1 or sold,
             [REPLY.refused] = '' }
  end
end

-- @include queue_state_lib.lua

q.user = ARG.user

q.at, q.at_until = ARG.ticket + 0, ARG.ticket_until + 0
q.e_adm, q.e_exp = ARG.entry_adm + 0, ARG.entry_exp + 0
q.pass = ARG.pass + 0

-- @include queue_lib.lua
-- @include queue_place_lib.lua

-- s that a token ends before its session, and passes after its end
local LEEWAY = 5


-- The lowest score of the places that count.
function q.best_place(done)
  local best = 0
  for i = #ARG, #ARGV - 1, #EACH do
    local score = ARG.score[i] + 0
    if q.place_counts(ARG.at[i] + 0, ARG.epoch[i] + 0, done)
       and (best == 0 or score < best)
    then
      best = score
    end
  end
  return best
end

function q.seen_waiting()
  call('ZADD', k.seen, q.int(q.ms), q.user)
  call('ZREM', k.leaving, q.user)
end

function q.wait_at(score)
  q.note_busy()
  q.add_waiting(q.user, score)
  q.seen_waiting()
  if q.size == 1 then
    q.touch(k.queue, k.seen, k.epoch, k.state)
  end
  return q.reply(WAITING, call('ZRANK', k.queue, q.user) + 1, score)
end

-- A user may enter at once only if nobody waits.  Sessions that have expired
-- count until they are taken back: a few here, the others by the schedule.
function q.may_enter()
  if q.restoring() or q.settling() or q.size > 0 or q.gathers() then
    return false
  end
  if not q.paused and not q.held_inside then
    for _, gone in ipairs(call('ZRANGEBYSCORE', k.active, '-inf', q.int(q.ms),
                               'LIMIT', 0, 16))
    do
      if not q.hold_active(gone) then
        q.expire_active(gone)
      end
    end
  end
  return q.room() > 0
end

function q.enter()
  q.note_busy()
  local adm, expires = q.admit(q.user, true)
  q.did = q.did + ENTERED
  call('ZREM', k.leaving, q.user)
  q.touch(k.active, k.active_seen, k.admitted, k.done, k.stream, k.epoch,
          k.state)
  return q.reply(ACTIVE, 0, 0, adm, expires)
end

-- What refuses a new user who would stand at that score.
function q.line_refuses(score)
  local behind = score > 0
                 and call('ZRANGEBYSCORE', k.queue, q.int(score), '+inf',
                          'LIMIT', 0, 1)[1]
  return refusal(q.size, (behind and call('ZRANK', k.queue, behind) or q.size)
                         + 1, q.rate)
end

-- Whether another user has come with the ticket of that time.
function q.is_others(at)
  local score = q.int(2 * at)
  local holder = call('HGET', k.used, q.int(at))
                 or call('ZRANGEBYSCORE', k.queue, score, score)[1]
                 or call('ZRANGEBYSCORE', k.cleared, score, score)[1]
  return holder and holder ~= q.user
end

-- A ticket lets one user join, even if it gives no priority any more.
function q.pass_is_others()
  return q.pass > 0 and q.is_others(q.pass)
end

function q.use_pass(score)
  if q.pass > 0 and score ~= 2 * q.pass then
    call('HSET', k.used, q.int(q.pass), q.user)
    q.touch(k.used)
  end
end

-- The score of a tier 1 token; 0: it gives no priority; nil: another has it
function q.ticket_score(done)
  if q.at == 0 or q.at <= done or q.at > q.now() or q.now() > q.at_until
     or call('HGET', k.vwr, 'activation') ~= ARG.ticket_activation
  then
    return 0
  end
  if q.is_others(q.at) then
    return nil
  end
  return 2 * q.at
end

function q.stay_active()
  local adm, expires = q.renew(q.user, active + 0)
  return adm and q.reply(ACTIVE, 0, 0, adm, expires)
end

-- Nobody looks at the page: the session is neither claimed nor renewed.
function q.stay_away()
  if active + 0 <= q.ms and not q.paused and not q.hold_active(q.user) then
    q.try()
    q.expire_active(q.user)
    return nil
  end
  return q.reply(call('ZSCORE', k.active_seen, q.user) and ACTIVE or READY,
                 0, 0, (call('ZSCORE', k.admitted, q.user) or q.now()) + 0,
                 active + 0)
end

-- A user who lost a claim and does not look is passed over: taken out of the
-- line, which goes on, and told where the place would be in it.
function q.pass_over(place)
  local behind = call('ZRANGEBYSCORE', k.queue, q.int(place), '+inf', 'LIMIT',
                      0, 1)[1]
  return q.reply(WAITING,
                 (behind and call('ZRANK', k.queue, behind) or q.size) + 1,
                 place)
end

function q.stay_waiting(score)
  if lower then
    local place = q.best_place(q.done(q.user))
    if place > 0 and place < score then
      place = q.free_score(place)
      q.try()
      q.remember_position(q.user, score)
      score = place
      q.add_waiting(q.user, score)
      q.note_moved(q.user)
      q.did = q.did + PLACE_BACK
    end
  end
  q.seen_waiting()
  return q.reply(WAITING, call('ZRANK', k.queue, q.user) + 1, score)
end

-- A token ends before its session does, or is revoked.  One that has not ended,
-- is not revoked, and has no session shows that data was lost: the session is
-- made from it.
function q.restore_session()
  local expires = (q.e_exp + LEEWAY) * 1000
  if q.e_adm <= q.clear or q.e_adm > q.far or expires <= q.ms
     or (call('ZSCORE', k.revoked, q.user) or 0) + 0 >= q.e_adm
  then
    return
  end
  q.clock = math.max(q.clock, q.e_adm)
  q.live()
  q.hear_time(q.e_adm)
  if q.e_adm < q.epoch and q.us - q.epoch < q.restore_wait * 1000 then
    q.begin_restore()
  end
  q.try()
  q.note_busy()
  q.add_active(q.user, expires)
  call('ZADD', k.admitted, q.int(q.e_adm), q.user)
  q.did = q.did + SESSION_BACK
  if q.e_adm < q.epoch then
    q.back = q.back + 1
    call('HSET', k.state, 'back', q.int(q.back))
  end
  call('ZADD', k.active_seen, q.int(q.ms), q.user)
  q.size = q.size - call('ZREM', k.queue, q.user)
  call('ZREM', k.seen, q.user)
  if q.done(q.user) < q.e_adm then
    call('ZADD', k.done, q.int(q.e_adm), q.user)
  end
  q.touch(k.active, k.admitted, k.active_seen, k.done)
end


q.hear_host()
q.touch_all()

if not active and q.e_adm > 0 then
  q.restore_session()
  active = call('ZSCORE', k.active, q.user)
  score = call('ZSCORE', k.queue, q.user)
end

if ARG.mode == RESTORE then
  return q.reply(active and ACTIVE or NOT_IN)
end

if active then
  local answer
  if ARG.mode == AWAY
     or ARG.looks == '1' and not call('ZSCORE', k.active_seen, q.user)
  then
    answer = q.stay_away()
  else
    answer = q.stay_active()
  end
  if answer then
    return answer
  end
end

if score then
  return q.stay_waiting(score + 0)
end

local done = 0
if #ARGV > #ARG or q.at > 0 then
  done = q.done(q.user)
end

local place = q.best_place(done)

if place == 0 and (ARG.mode == CHECK or ARG.mode == REPORT)
   and ARG.unbound ~= '1' and q.sold_out()
then
  return q.reply(SOLD_OUT)
end

-- A place lets its holder join without a tier 1 token.
if ARG.mode == REPORT and place == 0 then
  return q.reply(NEEDS_TIER1)
end

if ARG.mode ~= CHECK and ARG.mode ~= REPORT then
  if place > 0 and (ARG.mode == AWAY or ARG.looks == '1')
     and q.claims_lost(q.user) > 0
  then
    return q.pass_over(place)
  end
  if place > 0 then
    q.try()
    q.did = q.did + PLACE_BACK
    return q.wait_at(q.free_score(place))
  end
  return q.reply(NOT_IN)
end

if place == 0 and q.undrawn() then
  return q.reply(UNDRAWN)
end

if place == 0 then
  score = q.ticket_score(done)
  if not score or q.pass_is_others() then
    return q.reply(POSITION_USED)
  end
end

q.live()
q.try()

local enters = q.may_enter()

if place == 0 then
  local refused = not enters and q.line_refuses(score)
  if refused then
    return q.reply(refused)
  end
  q.use_pass(score)
end

q.did = q.did + (place > 0 and PLACE_BACK or JOINED)

if enters then
  local answer = q.enter()
  if place > 0 then
    q.remember_position(q.user, place)
  elseif score > 0 then
    q.remember_position(q.user, score)
  end
  return answer
end

if place > 0 then
  return q.wait_at(q.free_score(place))
end

if score > 0 then
  -- the place has to be later than a clear or a leave of just now
  q.tick()
  return q.wait_at(score)
end

return q.wait_at(2 * q.tick() + 1)
