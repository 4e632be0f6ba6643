-- What users whom a host told by its view how they stand have to say: they are
-- here, and if they are not in line any more, they are put back.  Each has shown
-- a place: its score, and, in one text, the time of the clock and the life of
-- the data that it is of, and 1 of a page that nobody looks at.  Keys, further
-- arguments and most of the answer are those of queue_state_lib.lua.
--
-- each: user score place
--
-- back: how many were put back; again: who stands otherwise than that place
-- has it, or not at all, 0 being the first: the host has them ask.
-- reply: back again

-- @include queue_state_lib.lua
-- @include queue_lib.lua
-- @include queue_place_lib.lua

q.e_adm = 0
q.back_in_line = 0

local now = q.int(q.ms)

local here = {}     -- now, user, now, user, ...
local again = {}

-- A user whom the line does not have at that score; whether it comes to.
function q.stand(user, score, place)
  local at, life, away = place:match('^(%d+) (%d+) (%d)$')

  if call('ZSCORE', k.active, user) then
    return false
  end

  local stands = call('ZSCORE', k.queue, user)
  q.user = user

  if not q.place_counts(at + 0, life + 0, q.done(user))
     or stands and stands + 0 < score
  then
    if stands then
      here[#here + 1] = now
      here[#here + 1] = user
    end
    return false
  end

  -- who lost a claim and does not look is passed over
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
  call('ZREM', k.leaving, user)
  q.back_in_line = q.back_in_line + 1
  if q.size == 1 then
    q.touch(k.queue, k.seen, k.epoch, k.state)
  end

  return free == score
end


q.hear_host()
q.touch_all()

for i = #ARG, #ARGV - 1, #EACH do
  local user = ARG.user[i]
  if call('ZSCORE', k.queue, user) == ARG.score[i] then
    here[#here + 1] = now
    here[#here + 1] = user
  elseif not q.stand(user, ARG.score[i] + 0, ARG.place[i]) then
    again[#again + 1] = (i - #ARG) / #EACH
  end
end

if #here > 0 then
  call('ZADD', k.seen, unpack(here))
  if q.beacon ~= 0 then
    for i = 2, #here, 2 do
      call('ZREM', k.leaving, here[i])
    end
  end
end

local answer = q.reply(NOT_IN)
answer[REPLY.back] = q.back_in_line
answer[REPLY.again] = again
return answer
