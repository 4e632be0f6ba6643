-- One step of the serving counter.  Any number of workers and hosts may run
-- it: each moves it by the time since the last.  Keys, arguments and most of the
-- answer are those of vwr_lib.lua, without a result.
--
-- Of a room on standby, see vwr_standby_lib.lua; standby: 1: it is one by the
-- configuration; wanting: visitors whom the host holds up for want of positions,
-- or sent to the page since the last step; spare: how many it would have in hand
-- besides; back: how many it gives back, of those it had; have: how many it still
-- has; host_seen: as seen, -1: not known.
-- args: standby wanting spare back have host_seen
--
-- noshow: how many times as fast as the rate numbers may be called for those who
-- do not come, 1: who comes is not looked at; how long a session lasts, ms; come:
-- who had the first token of a ticket, see come_lib.lua; more: how many
-- besides; asks: the numbers whose turn is over that want it again, lower ones
-- first, with blanks between them; had: as come, what was told before, since it
-- may have been lost.
-- args: noshow session_max come more asks had
--
-- notice: the version of an operator's, 0: there is none.
-- keys: notice
-- reply: notice
--
-- seen: since when the room shows, us of Redis, 0: it does not; granted: how many
-- visitors the host may let in, besides those that it still has.
-- reply: seen granted
--
-- shows: how many of those who are called come, in thousandths, -1: that is not
-- looked at; come_since: since when it is known here who came, us; 0: that is not
-- looked at.
-- reply: shows come_since
--
-- Who is there, see there_lib.lua: who tells, 0: this host has nothing to tell
-- now; of which numbers; the table that it has; 1: it could not keep all that it
-- heard; and what it heard: bits of numbers from the first on, that lapse in so
-- many s.
-- keys: there there-all there-left there-heard there-tmp
-- keys: there-0 there-1 there-2 there-3 there-4 there-5 there-6 there-7 there-8
-- keys: there-9 there-10
-- args: there_host there_of there_seen there_blind
-- each: lapse first bits
--
-- When the table was made, 0: the host has it, or there is none; of which
-- numbers, and the first of them.
-- reply: there_at there_of there_first
--
-- turns: of the numbers that asked and may go in, each with its turn, us of the
-- event's clock, 0: by the counter; gaps: what was passed over of late, from and
-- to; and the table of who is there.
-- reply: turns gaps there_table

-- @include vwr_lib.lua
-- @include vwr_standby_lib.lua

-- us for which a host of an older version is taken to move the counter, too
local FOREIGN = 10000000

-- ms after a loss in which all hosts have told what they know
local TELL = 2000

local there = { was_known = 0 }
local c = { shows = 1000, since = 0, turns = {}, gaps = {}, p = 1, of_all = 1,
            known = 0 }

-- Few rooms look at who comes and who is there, and it takes functions that
-- Redis would make anew for each step of any room.
local function look_at_them()
-- @include there_lib.lua
-- @include come_lib.lua
end

-- Up to which number nobody has one from the counter on, since numbers were
-- left out after a loss: once each host has told which it knew, if it is still
-- there.  Somebody who has one all the same comes late.
function v.skipped()
  if v.serving < v.skip_from or v.serving >= v.skip_to
     or v.rate_in_force() == 0 or v.waits()
     or v.order > 0 and (v.drawn == 0 or v.skip_from < v.lots)
     or v.ms - v.restored < TELL and v.ms >= v.restored
  then
    return v.serving
  end
  return v.skip_to
end

-- What a host knew before the loss is less than what it hears afterwards.
function v.hear_skipped()
  if v.skip_to == 0 then
    return
  end
  if v.serving >= v.skip_to then
    v.skip_to = 0
    call('HDEL', k.vwr, 'skipped')
  elseif host.activation == v.activation and host.next > v.skip_from
     and host.next < v.skip_to
  then
    v.skip_from = host.next
    seldom()
    v.keep_skipped()
  end
end

-- How a counter led by who comes stands, apart from what was called of late.
-- 1: nobody waits; 2: nor is there a rate; 3: nobody is let in; 4: people
-- wait, without a rate; 0: it moves.  As long as that stays the same, and
-- nothing is told or asked, a step has nothing to look at, once all that was
-- called is settled.
function v.stands()
  if v.us - v.older < FOREIGN then
    return 0
  elseif v.waits() then
    return 3
  elseif v.serving >= v.next then
    return v.rate_in_force() > 0 and 1 or 2
  end
  return v.rate_in_force() > 0 and 0 or 4
end

function v.is_due()
  return v.ms - v.touched > 3600000 or v.ms < v.touched
end

function v.rests()
  return v.rest > 0 and v.rest == v.stands() and ARG.come == ''
         and ARG.had == '' and ARG.more == '0' and ARG.asks == ''
         and not v.is_due()
end

-- gaps of late, for hosts
function c.told()
  local told = {}
  for _, g in ipairs(c.gaps) do
    told[#told + 1] = g.from
    told[#told + 1] = g.to
  end
  return told
end

-- When the table was made, if the host has another one, else 0; which numbers
-- it is of, the first of them, and the table.
function there.told()
  if ARG.there_host == '0' or v.active == 0 or not there.of
     or there.refused or there.was_known == 0 or there.counted == ARG.there_seen + 0
  then
    return 0, 0, 0, ''
  end
  return there.counted, there.of, there.first,
         call('HGET', KEY.there, 'table') or ''
end

-- Writes what changed; all of it, if Redis has another state than was read.
function v.write_step()
  v.stepped = v.updated
  if v.saved then
    v.write('serving', 'part', 'updated', 'rate', 'stepped', 'older', 'idle',
            'passed', 'rest')
    return
  end
  local at, args = v.int(v.updated), {}
  local function put(field, was)
    if v[field] ~= (was or -1) + 0 then
      args[#args + 1] = field
      args[#args + 1] = v.int(v[field])
    end
  end
  put('serving', h[19])
  put('part', h[20])
  put('older', h[21])
  put('passed', h[23])
  put('rest', h[24])
  if v.idle == v.updated then
    args[#args + 1] = 'idle'
    args[#args + 1] = at
  end
  local rate = v.int(v.rate)
  if rate ~= h[26] then
    args[#args + 1] = 'rate'
    args[#args + 1] = rate
  end
  call('HSET', k.vwr, 'updated', at, 'stepped', at, unpack(args))
end

-- What was issued a second, of late: the peak, halved with each second.
function v.measure()
  local elapsed = v.us - v.issue_at
  if elapsed >= 0 and elapsed < 1000000 then
    return
  end
  local issued = 0
  if elapsed > 0 then
    issued = math.ceil((v.next - v.issue_next) * 1000000 / elapsed)
  end
  v.issue = math.max(issued, math.floor(v.issue / 2))
  v.issue_next, v.issue_at = v.next, v.us
  v.write('issue', 'issue_next', 'issue_at')
end


v.hear_host()
v.hear_skipped()
v.hear_draw()
v.open()
v.reach()
v.draw()

local led = v.active == 1 and ARG.noshow + 0 > 1 and not v.rests()

if led or ARG.there_host ~= '0' then
  look_at_them()
  there.try()
end

v.standby_look()

if v.active == 1 then
  if led then
    c.step()
    if v.come_since ~= c.since then
      v.come_since = c.since
      v.write('come_since')
    end
  else
    v.serving = v.skipped()
    v.move()
    if ARG.noshow + 0 > 1 then
      -- the host that steps first after a loss may not know who came
      c.since = v.come_since
    else
      c.shows = -1
    end
  end
  v.rate = v.rate_in_force()
  if v.serving >= v.next then
    v.idle = v.us
  end
  v.write_step()
  v.measure()
  if v.is_due() then
    seldom()
    v.touch()
  end
end

local seen, granted = v.standby_grant()

-- of whatever type it is
local notice = redis.pcall('HMGET', KEY.notice, 'version', 'at')
local answer = v.reply(0, 0)
answer[REPLY.notice] = (not notice.err and notice[2] and notice[2] ~= '0'
                        and notice[1] or 0) + 0
answer[REPLY.seen] = seen
answer[REPLY.granted] = granted
answer[REPLY.shows] = v.active == 1 and c.shows or -1
answer[REPLY.come_since] = c.since
answer[REPLY.there_at], answer[REPLY.there_of], answer[REPLY.there_first],
  answer[REPLY.there_table] = there.told()
answer[REPLY.turns] = c.turns
answer[REPLY.gaps] = c.told()
return answer
