-- What the queue scripts share besides the state: the transitions.

local WEEK = 604800

-- s that the keys of a brief event stay without users, at least; as long as
-- entry tokens last of users who were in
local LINGER = 600

-- ms after a gap in which nothing ends
local PAUSE = 120000

-- ms, three times the longest time between two steps where somebody waits
local SETTLE = 1500

-- ms by which Redis's clock may go back
local JUMP = 30000

-- ms for which limits by the backend hold if nobody renews them
local FOLLOW = 120000

-- lost claims after which a place counts no more
local CLAIMS = 3


function q.int(n)
  return string.format('%.0f', n)
end

-- A late step is no sign by itself, as the schedule has many events to look
-- after.  It is a sign if the host was out of touch with Redis since the last
-- step, if Redis's clock is not what it was, or if Redis took its time to get
-- to this call, which may have been sent before it was away.
q.last = math.max(q.step, q.busy)
q.expected = math.max(q.last, q.due)
q.since = q.host_ms > 0 and q.host_ms - q.in_touch or q.ms
q.missed = q.since > q.last
           or q.host_ms > 0 and math.abs(q.ms - q.host_ms) > SETTLE

-- No step for 10 s when one was due, or a clock that jumped by 30 s:
-- heartbeats could not be recorded, so clean-up and the ends of sessions pause.
q.behind = q.step ~= 0 and (q.missed and q.ms - q.expected > 10000
                            or q.ms - q.step < -JUMP)
q.paused = q.behind or q.ahead(q.gap, PAUSE)

-- Redis was away, and may be another one now, without the last writes that it
-- acknowledged.  Whoever knows of these has to be heard before anybody gets
-- in: hosts step all events with users as soon as they are in touch again.
-- This wait is not repeated if there was no step after it: a host may have
-- more events than it can keep in mind.
q.away = q.step ~= 0 and q.size + q.active > 0 and q.missed
         and (q.since > q.met / 1000
              or q.host_ms > 0 and math.abs(q.ms - q.host_ms) > SETTLE)
         and q.ms - q.last > SETTLE
         and (q.ms - q.expected > SETTLE or q.ms - q.since <= 2 * SETTLE)

-- Sessions stand still: an operator holds those inside, too, or did until just
-- now, so that they have not had the time to go on.
function q.stands(adm)
  return q.held_inside
         or q.ahead(q.still, q.active_ttl) and adm <= q.still_at
end

function q.settling()
  return q.ahead(q.settle, SETTLE)
end

-- Remembers where the clock stood: the first call after that goes on from
-- there, and beyond what hosts know of before.
function q.note_away()
  if q.away and not q.settling() then
    q.settle, q.had, q.met = q.ms + SETTLE, q.stored, q.us
    q.did = q.did + SETTLES
    call('HSET', k.state, 'settle', q.int(q.settle), 'had', q.int(q.had),
         'met', q.int(q.met))
  end
end

function q.now()
  return math.max(q.us, q.clock)
end

-- Something done besides: if it fails the call goes on, but the host tells of
-- it.
function q.by_the_way(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    local command, key = ...
    q.refused = command .. ' ' .. key .. ': ' .. answer.err
    return nil
  end
  return answer or false
end

-- If a call fails it has to have done nothing.  So before its first effect
-- there are writes, and reads, that change nothing, but are refused for any
-- reason for which those that follow would be.  Redis looks for memory only at
-- the first write of a script.
function q.try()
  for _, key in ipairs({ k.queue, k.seen, k.active, k.active_seen, k.admitted,
                         k.done, k.revoked, k.leaving, k.cleared, k.lost,
                         k.ended, k.moved })
  do
    call('ZADD', key, 'XX', '0', '')
  end
  call('ZREM', k.leaving, '')
  call('ZRANK', k.queue, '')
  call('HDEL', k.used, '')
  call('HSET', k.state, 'clock', q.int(q.stored))
  q.touch(k.state)
end

-- a new time of the event's clock, written with other fields of the state
function q.tick(...)
  q.clock = math.max(q.us, q.clock + 1)
  q.stored = q.clock
  call('HSET', k.state, 'clock', q.int(q.clock), ...)
  return q.clock
end

function q.expire(ttl, ...)
  for _, key in ipairs({...}) do
    call('EXPIRE', key, ttl)
  end
end

function q.touch(...)
  q.expire(q.faded == 0 and WEEK or q.linger(), ...)
end

function q.expire_all(ttl)
  q.expire(ttl, k.queue, k.active, k.seen, k.active_seen, k.done, k.revoked,
           k.epoch, k.state, k.admitted, k.used, k.cleared, k.leaving,
           k.rate, k.stream, k.lost, k.ended, k.moved)
  q.expire(q.seats() < 0 and ttl or WEEK, k.completed)
  -- what was sold is kept if the event has slots=
  if q.known then
    q.keep_sold(ttl)
  end
end

-- once an hour, so that polls alone keep an event's keys as well
function q.touch_all()
  if q.epoch ~= 0 and q.faded == 0
     and (q.ms - q.touched > 3600000 or q.ms < q.touched)
  then
    call('HSET', k.state, 'touched', q.int(q.ms))
    q.expire_all(WEEK)
  end
end

-- The last user of an event that no operator named has gone: its keys go when
-- no token of its users is good any more.
function q.fade()
  if q.api_threshold >= 0 or q.api_slots >= 0 or q.hold
     or q.by_the_way('HGET', k.vwr, 'activation') ~= false
  then
    return
  end
  -- if Redis has no memory for it a later call does it
  if q.by_the_way('HSET', k.state, 'fade', q.int(q.ms)) == nil then
    return
  end
  q.faded = q.ms
  q.expire_all(q.linger())
end

function q.linger()
  return math.max(LINGER, q.token_life())
end

-- s for which an entry token is good at most
function q.token_life()
  return math.ceil(math.min(q.token_ttl + 5000, q.active_ttl) / 1000)
end

-- The epoch begins with the first write.
function q.begin_epoch()
  -- hosts know the clock of a moment ago: no earlier time comes again
  if q.clock > q.us then
    q.clock = q.clock + 10000000
  end
  q.epoch = q.tick()
  call('SET', k.epoch, q.int(q.epoch), 'EX', WEEK)
  q.touch(k.state)
end

function q.live()
  if q.epoch == 0 then
    q.begin_epoch()
  end
end

-- Takes a time of the clock that somebody knows.  Redis's time may be behind
-- it, and others who call may not know it: from now on times are later.
function q.hear_time(t)
  if t > q.stored and t <= q.far then
    q.clock = math.max(q.clock, t)
    q.tick()
  end
end

-- Somebody knows of an earlier epoch: the data was lost.  Once per epoch
-- nobody is let in for a while, so that people with places get back to them.
function q.begin_restore()
  if q.restore == 0 then
    q.restore = q.ms + q.restore_wait
    call('HSET', k.state, 'restore', q.int(q.restore))
    q.miss_sold()
  end
end

function q.restoring()
  return q.ahead(q.restore, q.restore_wait)
end

function q.keep_sold(ttl)
  call('SET', k.sold, q.int(q.sold))
  if q.seats() < 0 then
    q.expire(ttl or WEEK, k.sold)
  end
end

-- k.slots has what is left, of the same seats as before
function q.set_sold(sold)
  q.sold, q.known = sold, true
  q.keep_sold()
  if q.api_slots >= 0 then
    call('SET', k.slots, q.int(q.api_slots - sold))
  end
end

function q.set_slots(slots)
  q.api_slots = slots
  call('SET', k.slots, q.int(slots - q.sold))
  if q.known then
    q.keep_sold()
  end
end

-- Data was lost, and nobody has told yet what was sold before that: until
-- somebody does nobody is let in.
function q.miss_sold()
  if q.seats() >= 0 and not q.known then
    q.unsold = true
    call('HSET', k.state, 'unsold', '1')
  end
end

function q.find_sold()
  if q.unsold then
    q.unsold = false
    call('HDEL', k.state, 'unsold')
  end
end

-- Takes what a host knows of seats that Redis does not: what is sold never
-- falls. lost: the host knows it from an earlier epoch.
function q.hear_seats(lost)
  if q.host_slots >= 0 and q.api_slots < 0 and lost
     and (q.restore == 0 or q.restoring())
  then
    q.set_slots(q.host_slots)
  end
  if q.host_sold > q.sold
     or lost and q.host_sold >= 0 and q.seats() >= 0
        and (q.unsold or not q.known)
  then
    q.set_sold(math.max(q.sold, q.host_sold))
    q.find_sold()
  end
end

-- A host that knew an earlier epoch tells what it knew, once.  If it knew a
-- later time of this epoch Redis came back with older data: a new epoch
-- begins.
function q.hear_host()
  q.note_away()
  if q.host_epoch == 0
     or (q.host_epoch == q.epoch and q.host_clock <= q.stored
         and not (q.host_clock > q.had and q.host_clock < q.met))
  then
    q.hear_seats(false)
    return
  end
  if q.host_epoch == q.epoch then
    q.restore, q.base = 0, q.active
    q.floor, q.floor_until, q.back = 0, 0, 0
    q.had, q.met = 0, 0
    call('HSET', k.state, 'base', q.int(q.base), 'floor', '0', 'floor_until',
         '0', 'back', '0', 'had', '0', 'met', '0')
    q.begin_epoch()
  end
  q.live()
  q.hear_time(q.host_clock)
  q.hear_seats(true)
  q.begin_restore()
  if q.restoring() then
    if q.host_active - q.base > q.floor then
      q.floor = q.host_active - q.base
      q.floor_until = q.ms + q.active_ttl
      call('HSET', k.state, 'floor', q.int(q.floor), 'floor_until',
           q.int(q.floor_until))
    end
    if q.host_threshold >= 0 and q.api_threshold < 0 then
      call('SET', k.threshold, q.int(q.host_threshold))
      q.api_threshold = q.host_threshold
    end
  end
  if q.host_clear > q.stored_clear then
    call('HSET', k.state, 'clear', q.int(q.host_clear))
  end
end

-- An event without users has no steps: that is no gap.
function q.note_busy()
  if q.size + q.active == 0 then
    call('HSET', k.state, 'busy', q.int(q.ms))
    if q.faded ~= 0 then
      q.faded = 0
      call('HDEL', k.state, 'fade')
      q.expire_all(WEEK)
    end
  end
end

-- When a session ends, however often it is renewed.  Those who were in during
-- the last gap are not charged its time.
function q.session_end(adm)
  return math.floor(adm / 1000) + q.session_max
         + (adm <= q.slack_at and q.slack or 0)
end

-- How many count as active when somebody is to be let in: after a loss at
-- least as many as hosts knew, less those who left, until their sessions have
-- run out.
function q.counted()
  if q.ahead(q.floor_until, q.active_ttl) then
    return q.active + math.max(q.floor - q.back, 0)
  end
  return q.active
end

-- Whether all seats are sold, for now.
function q.sold_out()
  local seats = q.seats()
  return seats >= 0 and not q.unsold and q.sold >= seats
end

-- Whether the sale has not started, so that nobody is let in; also returns the
-- times that an operator set, as they are kept.
function q.gathers()
  local set = call('HMGET', k.schedule, 'version', 'opens', 'starts', 'closes')
  local version, opens = (set[1] or 0) + 0, (set[2] or -1) + 0
  local starts = ARG.starts + 0
  if ARG.host_sale + 0 > version and ARG.host_sale + 0 <= q.far then
    starts = ARG.host_starts ~= '-1' and ARG.host_starts + 0 or starts
  elseif opens >= 0 then
    starts = math.max((set[3] or 0) + 0, opens)
  end
  -- what has come by Redis's clock has come, even if that goes back
  q.starts = starts
  return q.us < starts and q.reached < starts, version, opens, set
end

-- Whether lots have to be drawn before anybody may join: a time of the clock
-- given out before that might be among theirs.
function q.undrawn()
  if ARG.order == '0' then
    return false
  end
  local room = call('HMGET', k.vwr, 'active', 'activation', 'draw_of', 'drawn',
                    'ready')
  if room[1] ~= '1' then
    return (q.gathers())
  end
  if room[2] ~= room[3] then
    return (q.gathers())
  end
  return (room[4] or '0') == '0' or (room[5] or '0') == '0'
end

-- How many more may be in by what the backend takes.
function q.follow_room(room, counted)
  if q.hold then
    return math.min(room, 0)
  end
  if not q.ahead(q.follow, FOLLOW) then
    return room
  end
  if q.trial >= 0 then
    return math.min(room, q.trial, q.trial_to - q.total)
  end
  if q.follow_threshold >= 0 then
    return math.min(room, q.follow_threshold - counted)
  end
  return room
end

-- How many more may be in: everybody inside may buy a seat.
function q.room()
  local counted = q.counted()
  local room, seats = q.threshold() - counted, q.seats()
  room = q.follow_room(room, counted)
  if seats < 0 then
    return room
  end
  return q.unsold and 0 or math.min(room, seats - q.sold - counted)
end

-- A position that leaves the queue stays its user's: nobody else may come with
-- it.  Even scores are positions (2 * at).
function q.remember_position(user, score)
  if score % 2 == 0 then
    call('HSET', k.used, q.int(score / 2), user)
    q.touch(k.used)
  end
end

-- Adds go before removals: if Redis has no memory it refuses only a script's
-- first write, and a removal would go through.
function q.add_waiting(user, score)
  if q.size == 0 and q.due > q.ms then
    -- until now nothing was due before a session ends
    q.due = q.ms
    call('HSET', k.state, 'due', q.int(q.due))
  end
  q.size = q.size + call('ZADD', k.queue, q.int(score), user)
end

function q.add_active(user, expires)
  q.active = q.active + call('ZADD', k.active, q.int(expires), user)
end

function q.drop_waiting(user, score)
  q.size = q.size - call('ZREM', k.queue, user)
  call('ZREM', k.seen, user)
  q.remember_position(user, score)
end

-- Notes which session of a user was the last: a purchase told later is of
-- that.
function q.note_ended(user)
  local adm = q.seats() >= 0 and call('ZSCORE', k.admitted, user)
  if adm then
    call('ZADD', k.ended, adm, user)
    q.touch(k.ended)
  end
end

-- how many were dropped, and how many were never here: 0 or 1 each
function q.drop_active(user)
  local n = call('ZREM', k.active, user)
  local seen = call('ZREM', k.active_seen, user)
  q.active = q.active - n
  call('ZREM', k.admitted, user)
  return n, seen == 0 and n or 0
end

-- Lets a user in.  A user who is not here has to claim the session in time.
function q.admit(user, here)
  q.total = q.total + 1
  local adm = q.tick('total', q.int(q.total))
  local ttl = math.min(here and q.active_ttl or q.claim_ttl, q.session_max)
  q.add_active(user, q.ms + ttl)
  call('ZADD', k.admitted, q.int(adm), user)
  if here then
    call('ZADD', k.active_seen, q.int(q.ms), user)
    call('ZADD', k.done, q.int(adm), user)
  end
  -- a failure never blocks an admission
  if q.stream
     and not q.by_the_way('XADD', k.stream, 'MAXLEN', '~', '10000', '*',
                          'action', 'admitted', 'eventId', q.event,
                          'userId', user, 'timestamp', q.int(q.ms))
  then
    q.unwritten = q.unwritten + 1
  end
  return adm, q.ms + ttl
end

function q.done(user)
  local done = (call('ZSCORE', k.done, user) or 0) + 0
  return done <= q.far and done or q.us
end

-- How many claims a user lost since last coming in or leaving.  The score in
-- k.lost is 4 times when (ms of the event's clock), and how many.
function q.claims_lost(user)
  local score = (call('ZSCORE', k.lost, user) or 0) + 0
  local at = math.floor(score / 4) * 1000
  return at > q.done(user) and at > q.clear and score % 4 or 0
end

-- A session was never claimed, so it was not used: the user's place still
-- counts, twice.
function q.lose_claim(user, at)
  local n = q.claims_lost(user) + 1
  if n < CLAIMS then
    call('ZADD', k.lost, q.int(math.floor(at / 1000) * 4 + n), user)
    q.touch(k.lost)
  else
    call('ZADD', k.done, q.int(at), user)
    q.touch(k.done)
  end
end

-- The session of a user who was held inside has ended: it is given time once
-- more, up to when the sessions of all such users have.
function q.hold_active(user)
  local adm = (call('ZSCORE', k.admitted, user) or 0) + 0
  if not q.stands(adm) then
    return false
  end
  if not q.held_inside then
    q.add_active(user, q.still)
  end
  return true
end

-- A session ran out.  Its token ends with it, though Redis's clock may go back.
function q.expire_active(user)
  q.note_ended(user)
  local at = q.tick()
  call('ZADD', k.revoked, q.int(at), user)
  q.touch(k.revoked)
  local n, lost = q.drop_active(user)
  if lost > 0 then
    q.lose_claim(user, at)
  end
  q.lost = q.lost + lost
  q.ended = q.ended + n - lost
end

-- Notes that a user is out so many ms after `from`, whole seconds, if nothing
-- else is said.  What was said before may come later: so what the score lacks
-- to a whole ms says how long it is, in 1,024ths for a second.  A place that is
-- given from now on is later than those of which hosts ask.
function q.note_going(user, from, wait)
  q.tick()
  call('ZADD', k.leaving,
       string.format('%.10f', from + wait - wait / 1024000), user)
end

-- When that was said, by a score of k.leaving; 0: the score does not say, as a
-- host of an older version wrote it, or while Redis's clock was ahead.
function q.going_since(score)
  if not score then
    return 0
  end
  local due = math.ceil(score + 0)
  local since = due - (due - score) * 1024000
  return since <= q.ms and since or 0
end

-- A user goes, for good: neither place nor token counts any more. held: what
-- the user is known to have, 0 nothing, 1 a place, 2 an entry token.  Of a
-- user who never was here nothing is noted; but for a while after a loss of
-- data nobody knows who was, and who has a token.
function q.depart(user, held)
  local score = call('ZSCORE', k.queue, user)
  local ends = call('ZSCORE', k.active, user)
  local been = call('ZSCORE', k.done, user)
  local n = 1
  local lost = q.restore ~= 0
               and q.us - q.epoch < q.token_life() * 1000000
  -- a user who lost a claim is in no line, but has a place, shown or not
  local known = score or ends or been or call('ZSCORE', k.lost, user)
  if not known and held == 0 and not lost then
    return 0
  end
  q.live()
  q.try()
  local t = q.tick()
  if score then
    q.drop_waiting(user, score + 0)
  else
    q.note_ended(user)
    n = q.drop_active(user)
  end
  -- a user who waits may have a token, too, of a session that was lost
  if ends or been or held == 2 or lost then
    call('ZADD', k.revoked, q.int(t), user)
    q.revoked = true
  end
  call('ZREM', k.leaving, user)
  call('ZADD', k.done, q.int(t), user)
  q.touch(k.done, k.revoked, k.state)
  return n
end
