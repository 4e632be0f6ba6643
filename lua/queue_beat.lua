-- What users have to say whom nobody asked Redis about, in the order in which
-- they said it.  Keys, further arguments and most of the answer are those of
-- queue_state_lib.lua.
--
-- Whom a host told by its view how they stand: they are here, and if they are
-- not in line any more, they are put back.  Each has shown a place: its score,
-- and, in one text, the time of the clock and the epoch that it is of, and 1 of
-- a page that nobody looks at.
--
-- With 0 for the score: "ADM 0 2" of one whose entry token, of when it was let
-- in, the gate took, and who so has come; "MS 0 3" of one who closed a stream,
-- and leaves if nothing is heard for so long.
--
-- each: user score place
--
-- here: others who are here, in one text, as cmsgpack has a list, or '': whom
-- their worker told of before, and who stood then as their places have it.  Of
-- these the name is enough while they are in line.  What they say they said
-- before a stream was closed.  lately: likewise, of whom it told so lately that
-- it need not be noted when they were here: a step waits for so much longer.
-- ages: for how many ms each has waited to be told of, two bytes a user: of those
-- in here, in lately, then of the others.
-- args: here lately ages
--
-- back: how many were put back; again: who stands otherwise than that place
-- has it, or not at all, 0 being the first: the host has them ask.  unknown: who
-- of those named is not in line, 0 being the first of all: the host tells of them by
-- their places.
-- reply: back again unknown

-- @include queue_state_lib.lua
-- @include queue_lib.lua
-- @include queue_place_lib.lua

q.e_adm = 0
q.back_in_line = 0

-- ms by which the time when something was said may be told too early
local LAG = 100

local now = q.int(q.ms)

local here = {}     -- now, user, now, user, ...
local heard = {}    -- users who do not leave by what they said before that
local closed = {}   -- users who do, and by which of those who said something last,
local within = {}   -- and in how many ms
local again = {}
local unknown = {}

-- when number n said it, ms: 1 is the first of all
function q.said(n)
  local high, low = ARG.ages:byte(2 * n - 1, 2 * n)
  return q.ms - 256 * high - low
end

-- What was said before a user closed the page or a stream is no sign that the
-- user is back, even if Redis hears of it later.
function q.hear(user, n)
  local at = q.beacon ~= 0 and q.said(n)
  if at and at + LAG < q.beacon
     and q.going_since(call('ZSCORE', k.leaving, user)) > at + LAG
  then
    return
  end
  heard[#heard + 1] = user
  if closed[user] and q.said(closed[user]) <= q.said(n) then
    closed[user] = nil
  end
end

function q.see(user, n)
  here[#here + 1] = now
  here[#here + 1] = user
  q.hear(user, n)
end

function q.scored(score, users)
  local list = {}
  for i, user in ipairs(users) do
    list[2 * i - 1] = score
    list[2 * i] = user
  end
  return unpack(list)
end

-- Which of the users k.seen does not have.  They are added for the moment,
-- with a score by which others stay as they are.
function q.absent(users)
  local absent = {}
  if call('ZADD', k.seen, 'NX', q.scored('0', users)) > 0 then
    for _, user in ipairs(call('ZRANGEBYSCORE', k.seen, '0', '0')) do
      absent[user] = true
    end
    call('ZREMRANGEBYSCORE', k.seen, '0', '0')
  end
  return absent
end

-- All users in line, and no others, are in k.seen: so one command says whether
-- all are.  If it tells of fewer one may be named twice, or another host told
-- of one in this very ms.
function q.still_here(users, noted, first)
  local absent = {}
  if noted
     or call('ZADD', k.seen, 'XX', 'CH', q.scored(now, users)) < #users
  then
    absent = q.absent(users)
  end
  local exact = call('ZCARD', k.seen) == q.size
  if exact and not next(absent) and q.beacon == 0 then
    return
  end
  for i, user in ipairs(users) do
    if exact and not absent[user] then
      q.hear(user, first + i)
    elseif call('ZSCORE', k.queue, user) then
      q.see(user, first + i)
    else
      unknown[#unknown + 1] = first + i - 1
    end
  end
end

-- Deals with a user whom the line does not have at that score; whether the
-- user stands there now.
function q.stand(user, score, place, n)
  local at, epoch, away = place:match('^(%d+) (%d+) (%d)$')

  if call('ZSCORE', k.active, user) then
    return false
  end

  local stands = call('ZSCORE', k.queue, user)
  q.user = user

  if not q.place_counts(at + 0, epoch + 0, q.done(user))
     or stands and stands + 0 < score
  then
    if stands then
      q.see(user, n)
    end
    return false
  end

  -- a user who lost a claim and does not look is passed over
  if not stands and away == '1' and q.claims_lost(user) > 0 then
    return true
  end

  local free = q.free_score(score)

  q.live()
  q.try()
  q.note_busy()
  if stands then
    q.remember_position(user, stands + 0)
  end
  q.add_waiting(user, free)
  if stands then
    q.note_moved(user)
  end
  call('ZADD', k.seen, now, user)
  q.hear(user, n)
  q.back_in_line = q.back_in_line + 1
  if q.size == 1 then
    q.touch(k.queue, k.seen, k.epoch, k.state)
  end

  return free == score
end

-- Somebody who is going already, by a beacon of the page, or who had another
-- stream, open until now, goes by what was said last: what is said in between may
-- be told later, and is no sign that the user is back.  The shorter time counts.
function q.note_closed(user, at, wait)
  local going = call('ZSCORE', k.leaving, user)
  local since = q.going_since(going)
  if since > 0 then
    wait = math.min(wait, math.ceil(going + 0) - since)
    at = math.max(at, since)
  elseif going and at + wait >= going + 0 then
    return
  end
  q.note_going(user, at, wait)
end

-- The token of an earlier session says nothing of this one.  Once come, a user
-- renews the session by heartbeats alone.
function q.come(user, adm, n)
  local ends = call('ZSCORE', k.active, user)
  if not ends or (call('ZSCORE', k.admitted, user) or 0) + 0 > adm then
    return
  end
  local going = call('ZSCORE', k.leaving, user)
  if not call('ZSCORE', k.active_seen, user) and q.renew(user, ends + 0)
     and going
  then
    -- whether that is still so has to be looked at again
    call('ZADD', k.leaving, going, user)
  end
  q.hear(user, n)
end

-- Deals with what is said by others than users who wait with a place.
function q.other(user, score, text, i)
  if score ~= '0' then
    return false
  end
  local n, what = text:match('^(%d+) %d+ (%d)$')
  if what == '2' then
    q.come(user, n + 0, i)
  elseif what == '3' then
    within[user] = math.min(closed[user] and within[user] or n + 0, n + 0)
    closed[user] = i
  end
  return true
end


q.hear_host()
q.touch_all()

local n = 0
if ARG.here ~= '' then
  local users = cmsgpack.unpack(ARG.here)
  q.still_here(users, false, 0)
  n = #users
end
if ARG.lately ~= '' then
  local users = cmsgpack.unpack(ARG.lately)
  q.still_here(users, true, n)
  n = n + #users
end

for i = #ARG, #ARGV - 1, #EACH do
  local user = ARG.user[i]
  n = n + 1
  if call('ZSCORE', k.queue, user) == ARG.score[i] then
    q.see(user, n)
  elseif q.other(user, ARG.score[i], ARG.place[i], n) then
    -- said
  elseif not q.stand(user, ARG.score[i] + 0, ARG.place[i], n) then
    again[#again + 1] = (i - #ARG) / #EACH
  end
end

if #here > 0 then
  call('ZADD', k.seen, unpack(here))
end
if q.beacon ~= 0 and #heard > 0 then
  call('ZREM', k.leaving, unpack(heard))
end

local leaves = 0
for i = #ARG, #ARGV - 1, #EACH do
  local user = ARG.user[i]
  local at = closed[user] and q.said(closed[user])
  if at and (call('ZSCORE', k.queue, user) or call('ZSCORE', k.active, user))
  then
    q.note_closed(user, at, within[user])
    leaves = leaves + 1
    closed[user] = nil
  end
end
if leaves > 0 then
  call('HSET', k.state, 'beacon', q.int(q.ms))
  q.touch(k.leaving)
end

local answer = q.reply(NOT_IN)
answer[REPLY.back] = q.back_in_line
answer[REPLY.again] = again
answer[REPLY.unknown] = unknown
return answer
