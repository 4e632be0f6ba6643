-- The purchase of a user is done: the session ends, and its seats are sold; or
-- the backend has the user leave, and they are free again.  However often and
-- by whomever it is said, what is bought in one session counts once: a session
-- is told by when its user was let in.  Keys, further arguments and the answer
-- are those of queue_state_lib.lua.
--
-- adm: of which session, us, 0: of the last one; seats: 0: the user leaves; by:
-- 0 the backend, 1 an operator, who may come after the session's end, 2 the
-- user, of the session that is on, once
-- args: user adm seats by
--
-- key: of who says it, so that it is about the same session, however late it is
-- carried out or said again; '': none.  No user's id begins as its field does.
-- args: key
--
-- The answer's adm is up to when entry tokens of the user are refused.

-- @include queue_state_lib.lua
-- @include queue_lib.lua

-- sessions with a purchase that are remembered of a user
local BOUGHT_MAX = 16

local user, seats = ARG.user, ARG.seats + 0

q.hear_host()
q.touch_all()

local ends = call('ZSCORE', k.active, user)
local let_in = ends and (call('ZSCORE', k.admitted, user) or 0) + 0
local bought = call('HGET', k.completed, user) or ''
local last = (bought:match('(%d+)$') or 0) + 0
local adm = told(ARG.adm)

if adm == 0 then
  adm = let_in
        or math.max((call('ZSCORE', k.ended, user) or 0) + 0, last)
end

local mark = ARG.key ~= '' and '\1' .. ARG.key
local said = mark and call('HGET', k.completed, mark)

if said then
  adm = said + 0
end

-- of an earlier epoch: the data was lost
if adm > 0 then
  q.live()
  q.hear_time(adm)
  if adm < q.epoch and q.us - q.epoch < q.restore_wait * 1000 then
    q.begin_restore()
  end
end

local twice = said or (' ' .. bought .. ' '):find(' ' .. q.int(adm) .. ' ', 1, true)

if ARG.by == '2' and not twice then
  if not ends or ends + 0 <= q.ms and not q.paused and not q.held_inside then
    return q.reply(NOT_HERE)
  end
  if bought ~= '' then
    return q.reply(BOUGHT)
  end
end

q.live()
q.try()
call('HDEL', k.completed, '')

local counts = seats > 0 and not twice

-- before the session ends: if this is refused the session stays
if counts then
  q.set_sold(q.sold + seats)
  local list = {}
  for one in (bought .. ' ' .. q.int(adm)):gmatch('%d+') do
    list[#list + 1] = one
  end
  call('HSET', k.completed, user,
       table.concat(list, ' ', math.max(#list - BOUGHT_MAX + 1, 1)))
  q.expire(WEEK, k.completed)
end

-- a user, who may come with any number of keys, is counted once anyway
if mark and not said and seats > 0 and (counts or ARG.by ~= '2') then
  call('HSET', k.completed, mark, q.int(adm))
  q.expire(WEEK, k.completed)
end

if ends and let_in <= adm then
  q.depart(user, 2)
  q.did = REVOKED

elseif not ends and (call('ZSCORE', k.revoked, user) or 0) + 0 < adm then
  -- a token that is still good, of a session that was lost
  call('ZADD', k.revoked, q.int(q.tick()), user)
  q.touch(k.revoked)
  q.did = REVOKED
end

if seats == 0 then
  if ends and let_in <= adm then
    q.did = q.did + LEFT
  end

elseif counts then
  q.did = q.did + COMPLETED
  if not ends or let_in > adm then
    q.did = q.did + LATE
  end
end

return q.reply(NOT_IN, 0, 0, (call('ZSCORE', k.revoked, user) or 0) + 0)
