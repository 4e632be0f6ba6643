-- One step of the schedule.  Any number of workers and hosts may run it:
-- what expired is taken back by whoever comes first, and admissions happen
-- once per admit_interval.  Everything is bounded; the answer says whether
-- more is left to do at once.  Keys, further arguments and most of the answer
-- are those of queue_state_lib.lua.
--
-- since: the time of the latest revocation that the host knows, us; waiting and
-- inside: the scores of k.queue and k.admitted from which on it does not know
-- who is there, -1: it need not.
-- args: since waiting inside
--
-- view: so many of the head one by one, 0: the host wants no view of the line;
-- gone: the event's clock, who came in or left later, or came to stand further
-- ahead, -1: it knows of nobody.
-- args: view gone
--
-- The state is 1 while anybody waits or is in, position how many were let in,
-- score 1 if it stopped at a bound and the next step may follow at once.
-- revoked: the revocations since then, user, time, user, time, ...  step: a
-- list of what it did, due: ms until the next one, mixed: 1 if a host that knows
-- no "due" steps too; waiting and inside: up to which scores the members tell
-- who is there, more: 1 if they are not all; notice: the version of an operator's,
-- 0: there is none; sale: that of the times that an operator set, which
-- follow, opens -1: none are set; hold, held, since: when an operator last held
-- the event or let it go, as hold.lua has it.  points: scores of the line, of so
-- many one by one ("exact"), and of some behind, of whom "ranks" has the ranks, from
-- 0; the last one of the line is one of them; gone: user, time, user, time, ... and
-- told: up to which time these are all, -1: nobody asked.
-- keys: notice hold view
-- reply: revoked members points ranks gone step
-- did: left stale early due mixed waiting inside more notice exact told
-- did: sale opens starts closes hold held since waited

-- @include queue_state_lib.lua
-- @include queue_lib.lua
-- @include queue_view_lib.lua

local EXPIRED_MAX, STALE_MAX, REVOKED_MAX = 1000, 1000, 1000
local MEMBERS_MAX, LEAVE_MAX = 1000, 100
local CLEAN_INTERVAL = 30000

-- users who are gone, told at a time
local GONE_MAX = 1000

-- ms between two steps at most, where somebody waits
local INTERVAL = 500

local DAY = 86400000000

local since = ARG.since + 0 <= q.far and ARG.since or '0'

q.more = 0

q.left, q.stale = 0, 0
q.early = 0         -- 1: somebody waits on who was ahead of one who was let in,
                    -- which is never to happen
q.waited = {}       -- ms, of each who was let in


function q.drop_old(key, before)
  local old = call('ZRANGEBYSCORE', key, '-inf', q.int(before), 'LIMIT', 0,
                   STALE_MAX)
  if #old > 0 then
    call('ZREM', key, unpack(old))
  end
  if #old == STALE_MAX then
    q.more = 1
  end
end

function q.take_back_expired()
  if q.held_inside then
    return
  end
  local gone = call('ZRANGEBYSCORE', k.active, '-inf', q.int(q.ms), 'LIMIT',
                    0, EXPIRED_MAX)
  for _, user in ipairs(gone) do
    if not q.hold_active(user) then
      q.expire_active(user)
    end
  end
  if #gone == EXPIRED_MAX then
    q.more = 1
  end
end

function q.let_go()
  local leave = call('ZRANGEBYSCORE', k.leaving, '-inf', q.int(q.ms), 'LIMIT',
                     0, LEAVE_MAX)
  for _, user in ipairs(leave) do
    -- the place of somebody who left by then counts no more, either
    q.left = q.left + q.depart(user, 1)
    call('ZREM', k.leaving, user)
  end
  if #leave == LEAVE_MAX then
    q.more = 1
  end
end

function q.clean_up()
  local stale = call('ZRANGEBYSCORE', k.seen, '-inf', q.int(q.ms - q.seen_ttl),
                     'LIMIT', 0, STALE_MAX)
  for _, user in ipairs(stale) do
    q.drop_waiting(user, (call('ZSCORE', k.queue, user) or 1) + 0)
  end
  q.stale = q.stale + #stale

  q.drop_old(k.done, q.now() - DAY)
  q.drop_old(k.ended, q.now() - DAY)
  q.drop_old(k.moved, q.now() - DAY)
  q.drop_old(k.lost, math.floor((q.now() - DAY) / 1000) * 4)
  q.drop_old(k.revoked, q.now() - (q.token_ttl + 60000) * 1000)

  if #stale == STALE_MAX then
    q.more = 1
  elseif q.more == 0 then
    call('HSET', k.state, 'clean', q.int(q.ms))
  end
end

-- No session goes on for longer than session_max and a pause, and nobody was
-- seen, joined, or was put out in the future: if the data says so Redis's clock
-- was ahead, if only for a moment.
function q.clock_right()
  local far = q.int(q.ms + q.session_max + q.active_ttl + PAUSE)
  for _, user in ipairs(call('ZRANGEBYSCORE', k.active, far, '+inf', 'LIMIT',
                             0, STALE_MAX))
  do
    call('ZADD', k.active, q.int(q.ms + q.active_ttl), user)
  end
  for _, user in ipairs(call('ZRANGEBYSCORE', k.seen, q.int(q.ms + 1000),
                             '+inf', 'LIMIT', 0, STALE_MAX))
  do
    call('ZADD', k.seen, q.int(q.ms), user)
  end
  for _, user in ipairs(call('ZRANGEBYSCORE', k.queue, q.int(2 * q.far + 1),
                             '+inf', 'LIMIT', 0, STALE_MAX))
  do
    call('ZADD', k.queue, q.int(2 * q.tick() + 1), user)
  end
  for _, user in ipairs(call('ZRANGEBYSCORE', k.revoked, q.int(q.far), '+inf',
                             'LIMIT', 0, STALE_MAX))
  do
    call('ZADD', k.revoked, q.int(q.tick()), user)
  end
end

-- Lets in from the head of the line; those who are gone are dropped first.
function q.let_in()
  local want = math.min(q.admit_batch, q.room())
  local admitted, looked, last = 0, 0, 0

  while admitted < want and looked < q.admit_batch + STALE_MAX do
    local head = call('ZRANGE', k.queue, 0, want - admitted - 1, 'WITHSCORES')
    if #head == 0 then
      break
    end
    for i = 1, #head, 2 do
      local user, score = head[i], head[i + 1] + 0
      local seen = (call('ZSCORE', k.seen, user) or 0) + 0
      q.drop_waiting(user, score)
      if q.paused or q.ms - seen <= q.seen_ttl then
        q.admit(user, false)
        admitted = admitted + 1
        -- either score of a time is in that us
        q.waited[admitted] = math.max(0, q.ms - math.floor(score / 2000))
        last = math.max(last, score)
      else
        q.stale = q.stale + 1
      end
      looked = looked + 1
    end
  end

  if admitted > 0 then
    local first = call('ZRANGE', k.queue, 0, 0, 'WITHSCORES')[2]
    if first and first + 0 < last then
      q.early = 1
    end
  end

  return admitted
end

-- Admissions per second, times 1000, over 1, 5 and 15 minutes, each window
-- no longer than there has been anything to measure.
function q.measure(admitted)
  local bucket = math.floor(q.ms / 10000)
  local counts = q.counts

  if admitted > 0 then
    local to = #counts + 1
    for i = 1, #counts, 2 do
      if counts[i] == q.int(bucket) then
        to = i
      end
    end
    counts[to] = q.int(bucket)
    counts[to + 1] = q.int((counts[to + 1] or 0) + admitted)
    call('HSET', k.rate, counts[to], counts[to + 1])
    q.touch(k.rate)
  end

  if #counts == 0 then
    return
  end

  local windows = { { 6, 0.5, 0 }, { 30, 0.3, 0 }, { 90, 0.2, 0 } }
  local first = bucket
  for i = 1, #counts, 2 do
    local at, n = counts[i] + 0, counts[i + 1] + 0
    if bucket - at >= 90 or at > bucket then
      call('HDEL', k.rate, counts[i])
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
      sum = sum + w[2] * w[3] * 1000 / math.max((q.ms - from) / 1000, 1)
      weights = weights + w[2]
    end
  end

  q.rate = weights > 0 and math.max(1, math.floor(sum / weights + 0.5)) or 0
  call('HSET', k.state, 'rate', q.int(q.rate))
end

-- When the next step is due: where nobody waits, when the next session ends.
function q.plan()
  local due = q.ms + math.min(q.admit_interval, INTERVAL)
  if q.size == 0 and q.more == 0 then
    local ends = call('ZRANGE', k.active, 0, 0, 'WITHSCORES')[2]
    local beacon = call('ZRANGE', k.leaving, 0, 0, 'WITHSCORES')[2]
    due = math.ceil(math.min((ends or beacon or due) + 0,
                             (beacon or ends or due) + 0))
    if q.paused then
      due = math.max(due, q.behind and q.ms + PAUSE or q.gap)
    end
    if q.held_inside then
      due = math.max(due, q.ms + PAUSE)
    end
  end
  if q.size == 0 or q.due > due then
    call('HSET', k.state, 'due', q.int(due))
  end
  q.due = due
end

-- Adds the members of a set from a score on, in the order of scores, which are
-- unique.  Returns up to which score, and 1 if there are more.
function q.members(key, from, members)
  local list = call('ZRANGEBYSCORE', key, '(' .. from, '+inf', 'WITHSCORES',
                    'LIMIT', 0, MEMBERS_MAX)
  for i = 1, #list, 2 do
    members[#members + 1] = list[i]
  end
  return (list[#list] or from) + 0, #list == 2 * MEMBERS_MAX and 1 or 0
end

-- Who is in a set since a time of the clock, with the score: their places up to
-- then do not count.  Who came by being let in was told of then, and who moved got
-- a place of that very time.
function q.gone(key, gone, told)
  local list = call('ZRANGEBYSCORE', key, '(' .. ARG.gone, '+inf',
                    'WITHSCORES', 'LIMIT', 0, GONE_MAX)
  for i = 1, #list, 2 do
    if key ~= k.done or not call('ZSCORE', k.active, list[i]) then
      gone[#gone + 1] = list[i]
      gone[#gone + 1] = list[i + 1] - (key == k.moved and 1 or 0)
    end
  end
  return #list == 2 * GONE_MAX and math.min(told, list[#list] + 0) or told
end

-- Who said by a beacon, since then, that the page closes: whether it was a
-- refresh has to be known in time, not when others' heartbeats are sent.  Who
-- closed a stream has longer.  A place of this very time was given after it: the
-- clock goes on with each who goes, and may stand still otherwise.
function q.going(gone)
  local since = math.floor(ARG.gone / 1000) + 9000
  for _, user in ipairs(call('ZRANGEBYSCORE', k.leaving, q.int(since),
                             q.int(q.ms + 10000), 'LIMIT', 0, GONE_MAX))
  do
    gone[#gone + 1] = user
    gone[#gone + 1] = q.stored - 1
  end
end

-- The answer, with the revocations that are news to the host, and what the
-- step did.
function q.told(...)
  local answer = q.reply(...)
  local news = call('ZRANGEBYSCORE', k.revoked, '(' .. since, '+inf',
                    'WITHSCORES', 'LIMIT', 0, REVOKED_MAX)
  for i = 2, #news, 2 do
    news[i] = news[i] + 0
  end
  local members = {}
  local waiting, inside, more, others = -1, -1, 0, 0
  if ARG.waiting ~= '-1' then
    waiting, more = q.members(k.queue, ARG.waiting, members)
    inside, others = q.members(k.admitted, ARG.inside, members)
  end
  local points, ranks, exact, gone, told = {}, {}, 0, {}, -1
  if ARG.view ~= '0' then
    points, ranks, exact = q.points(ARG.view + 0)
    told = q.stored
    if ARG.gone ~= '-1' then
      told = q.gone(k.admitted, gone, told)
      told = q.gone(k.done, gone, told)
      told = q.gone(k.moved, gone, told)
      q.going(gone)
    end
  end
  local notice = q.by_the_way('HMGET', KEY.notice, 'version', 'at')
  local hold = q.by_the_way('HMGET', KEY.hold, 'version', 'held', 'since') or {}
  answer[REPLY.revoked] = news
  answer[REPLY.members] = members
  answer[REPLY.points] = points
  answer[REPLY.ranks] = ranks
  answer[REPLY.gone] = gone
  answer[REPLY.step] = { [DID.left] = q.left,
                         [DID.stale] = q.stale,
                         [DID.early] = q.early,
                         [DID.due] = math.max(q.due - q.ms, 0),
                         [DID.mixed] = q.step ~= q.stepped and 1 or 0,
                         [DID.waiting] = waiting,
                         [DID.inside] = inside,
                         [DID.more] = math.max(more, others),
                         [DID.notice] = (notice and notice[2] and notice[2] ~= '0'
                                         and notice[1] or 0) + 0,
                         [DID.exact] = exact,
                         [DID.told] = told,
                         [DID.sale] = q.sale_version,
                         [DID.opens] = q.opens,
                         [DID.starts] = (q.set[3] or 0) + 0,
                         [DID.closes] = (q.set[4] or 0) + 0,
                         [DID.hold] = (hold[1] or 0) + 0,
                         [DID.held] = (hold[2] or 0) + 0,
                         [DID.since] = (hold[3] or 0) + 0,
                         [DID.waited] = q.waited }
  if #news == 2 * REVOKED_MAX or told >= 0 and told < q.stored then
    answer[REPLY.score] = 1
  end
  return answer
end


q.hear_host()
q.touch_all()

q.gathering, q.sale_version, q.opens, q.set = q.gathers()

if q.size + q.active == 0 and call('ZCARD', k.leaving) == 0
   and not q.restoring()
then
  return q.told(NOT_IN)
end

q.live()

-- Before all writes: if they are refused nothing is taken from anybody, and
-- later the time without a step shows.
q.try()
call('ZRANGE', k.queue, 0, 0)
call('HDEL', k.rate, '')
if q.us >= q.starts and q.starts > q.reached then
  call('HSET', k.state, 'reached', q.int(q.starts))
end
q.counts = call('HGETALL', k.rate)

local turn = q.step == 0
             or math.floor(q.ms / q.admit_interval)
                ~= math.floor(q.step / q.admit_interval)
if turn or q.ms - q.step >= 1000 or q.size == 0 then
  call('HSET', k.state, 'step', q.int(q.ms), 'stepped', q.int(q.ms))
end

if q.behind then
  q.slack = math.max(q.ms - math.max(q.step, q.busy), 0)
  -- "busy" as well: if it were older it would hide the next gap
  call('HSET', k.state, 'gap', q.int(q.ms + PAUSE), 'busy', q.int(q.ms),
       'slack', q.int(q.slack), 'slack_at', q.int(q.now()))
end

if turn then
  q.clock_right()
end

if not q.paused then
  q.take_back_expired()
  q.let_go()
  if q.ms - q.clean >= CLEAN_INTERVAL or q.ms < q.clean then
    q.clean_up()
  end
end

if q.beacon ~= 0 and call('ZCARD', k.leaving) == 0 then
  call('HDEL', k.state, 'beacon')
end

local admitted = 0
if turn and not q.restoring() and not q.settling() and not q.gathering then
  admitted = q.let_in()
  if admitted > 0 then
    q.touch(k.active, k.admitted, k.stream, k.state)
  end
end
if turn then
  q.measure(admitted)
end

q.plan()

return q.told(WAITING, admitted, q.more)
