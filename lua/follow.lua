-- The controller of an event whose admission follows its backend: takes what a
-- host measured since its last call, and twice a second, whichever host comes,
-- decides how many may enter.  What it does and why is in docs/follow.md.
--
-- keys: follow state vwr threshold active
--
-- what: on, dry (nothing is applied), off (what was limited is so no more)
-- args: what
--
-- Of the configuration: the 95th percentile of the time to the header, ms, 0:
-- none; the share of failures, 1/10000, -1: none; the most and the least of
-- positions served a second, the least in 1/1000; the most and the least of users
-- inside.
-- args: latency errors rate rate_min threshold threshold_min
--
-- What the host measured: requests; those of them that count, since one user is
-- 1 in 20 at most; failures; of the user who has most of them, and of slow
-- requests; users who failed, and users, not told of in this window yet; answers
-- 503 with Retry-After, users likewise, their seconds in all, and those of the
-- user who has most; requests that have waited for a header for LONG; users who
-- wait for long, and for 5 s; and times, a list of "bin count" with spaces between.
-- args: requests counted failed failed_top slow_top failed_users users
-- args: retry retry_users retry_seconds retry_top waiting late hung bins
--
-- What the host knows of the last decision, 0 (rate, threshold: -1): nothing.
-- args: host_at host_rate host_threshold host_why host_pause
--
-- The answer: when it was decided, us; the limits, -1: there is none, rate in
-- 1/1000 a second; why: 0 nothing limits, 1 latency, 2 errors, 3 it is paused;
-- pause: ms that the backend asked for, still; latency: us, -1: too few; of the
-- last 5 s requests, counted and failed; busy: 1 if it is to be called again
-- though nothing is measured.
-- reply: us at rate limit why pause latency requests counted failed busy
--
-- Limits are kept in 1/1000, of users too.

local LATENCY, ERRORS, PAUSED = 1, 2, 3

-- ms: of a decision, and of what hosts know
local STEP, LAPSE = 450, 120000

-- users whose failures stop it
local USERS = 5

-- ms: between trials, as early as one is over that goes well, and that a pause
-- lasts at most
local TRIAL, SOON_TRIED, PAUSE = 5000, 600, 60000

-- Of what a backend is found to take (its peak): so much is counted on; the least
-- that one is of what was let in, and what it is where nothing is known; what is
-- left of it where that was too much again; and so much is let in while errors are
-- too many.
local TRUST, LEAST, BLIND, AGAIN, FAILING = 0.95, 0.03, 0.7, 0.6, 0.6

-- of the latency that is allowed: of how long who asks now waits, or where that is
-- not known of the percentile, from where on less than the peak is let in; so that
-- what waits at the backend is done in about so many ms, a tenth at least, and ms in
-- which it is seen to be; from how long on what comes out is what it can do; and
-- between which growth gets less
local WAITS, NEAR, IN_TIME, PART, DONE = 0.5, 0.7, 2000, 0.1, 5000
local MUCH, FAR, FULL = 0.8, 0.4, 0.75

-- times what is usual, of the median: up to where growth gets faster, and from
-- where on it is as at first
local QUIET, RISEN = 1.3, 1.7

-- what is left of sums in half a second
local KEPT = 0.97

-- growth by a decision: of a limit up to its peak; of the peak in 1/1000, at first,
-- by how much faster each time, and at most
local QUICK, SLOW, FASTER, FASTEST = 0.3, 7, 2.5, 300

-- times what is seen to be well that a peak may be, and 1/1000 that it grows by in
-- any case; the same near what was too much, how much faster each time there, and
-- how fast at most; and from where to where that is
local AHEAD, ANYHOW = 2, 30
local PROBE, PROBED, PROBING, CAREFUL = 1.2, 20, 1.4, 30
local BELOW, BEYOND, BEYOND_MANY = 0.85, 1.25, 1.8

local call = redis.call

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

local STATE = { 'at', 'rate', 'threshold', 'why', 'stopped', 'pause', 'trial',
                'trial_at', 'trial_n', 'good', 'hold', 'from', 'growth',
                'rate_peak', 'threshold_peak', 'serving', 'entering', 'came',
                'let_in', 'asked_for', 'inside', 'waiting', 'since', 'parts',
                'idle', 'cuts', 'before', 'usual', 'rate_best',
                'threshold_best', 'rate_mark', 'threshold_mark', 'rate_over',
                'threshold_over', 'held', 'wait',
                'rate_held', 'threshold_held', 'cut_at' }

local f = {}
local kept = call('HMGET', KEY.follow, 'open', unpack(STATE))

for i, name in ipairs(STATE) do
  f[name] = (kept[i + 1] or 0) + 0
end


function f.int(n)
  return string.format('%.0f', n)
end

-- @include follow_lib.lua

-- What may be in force at most: the configuration's, or an operator's.
function f.bounds()
  local api = call('HMGET', KEY.vwr, 'api_rate', 'active', 'serving')
  local set = call('MGET', KEY.threshold)[1]
  f.rate_most = ((api[1] or -1) + 0 >= 0 and api[1] or ARG.rate) * 1000
  f.rate_least = math.min(ARG.rate_min + 0, f.rate_most)
  f.threshold_most = (set or ARG.threshold) * 1000
  f.threshold_least = math.min(math.max(ARG.threshold_min + 0, 1) * 1000,
                               f.threshold_most)
  f.room = api[2] == '1'
  f.served = (api[3] or 0) + 0
  f.users = call('ZCARD', KEY.active)
end

-- Of what is used of a limit, or of its peak where it is in force: what the
-- backend is found to do.
function f.cut_one(name, most, least, used, good, much, by)
  local limited, from = f[name] >= 0, most
  if limited then
    from = math.min(math.max(f[name], f[name .. '_peak']), most)
  elseif used > 0 then
    from = math.min(most, used)
  end
  local peak = f.takes(name, good, limited and FEW or ENOUGH)
  if peak < 0 then
    peak = (limited and TRUST or BLIND) * from
  elseif limited and not much then
    peak = TRUST * from
  elseif limited then
    peak = TRUST * from + by * (peak - TRUST * from)
  end
  peak = math.max(LEAST * from, math.min(peak, TRUST * from))
  f[name .. '_peak'] = math.floor(math.max(peak, least))
  f[name .. '_mark'] = f[name .. '_peak']
  f[name .. '_over'] = math.floor(TRUST * from)
  if much or not limited then
    f[name .. '_best'] = math.floor(math.max(from, 0.95 * f[name .. '_best']))
  end
  f[name] = limited and f[name] or math.floor(from)
end

-- What was too much is so still, where it is known.
function f.no_more(name, peak)
  local over = f[name .. '_over']
  return over > 0 and math.min(peak, over) or peak
end

-- It is too much still: what comes out now is what it can do; and once that is too
-- much for as long as it takes to be done, less.
function f.less_one(name, least, inside, good, again, much, by)
  local peak = f[name .. '_peak']
  if f[name] < 0 then
    return
  end
  local found = f.takes(name, good, FEW)
  if much and found >= 0
     and (found < peak or name == 'rate' and f.cuts == 1)
  then
    peak = f.no_more(name, peak + by * (found - peak))
  end
  -- who is in stays in: until some have left it cannot be less
  if again and inside < 1.1 * f[name] then
    peak = AGAIN * peak
  end
  f[name .. '_peak'] = math.floor(math.max(peak, least))
  f[name .. '_mark'] = f[name .. '_peak']
end

-- How long it takes, at least, until what is let in less is seen.
function f.done()
  return f.come_long() and 2 * DONE or DONE
end

function f.down(two, busy, latency, why, delay)
  local much = why == LATENCY and (delay < 0 or delay > MUCH * ARG.latency)
  local users, good = f.users * 1000, f.delivered(two)
  local wait = delay >= 0 and math.floor(1000 * delay) or latency
  if much then
    good = math.min(good, 1000 * two.last)
  end
  if f.cuts == 0 then
    if ms < f.hold then
      return
    end
    local by = math.min(1, (two.counted + two.waiting) / ENOUGH)
    if f.room and f.rate_most > 0 then
      f.cut_one('rate', f.rate_most, f.rate_least, f.entering, good, much, by)
    end
    if f.users > 0 and f.threshold_most > 0 then
      f.cut_one('threshold', f.threshold_most, f.threshold_least, users, good,
                much, by)
    end
    f.why, f.cuts, f.growth, f.from, f.before = why, 1, 0, ms, wait
    f.wait = wait
    f.since, f.hold = ms - 1, ms + f.done()
    return
  end

  f.before = math.max(f.before, wait)
  local again = ms >= f.hold and (why == ERRORS
                or wait >= math.max(0.8 * f.before, 0.97 * f.wait))
  f.wait = wait
  local by = math.min(1, (busy.counted + busy.waiting) / ENOUGH)
  good = f.delivered(busy)
  f.why = why
  f.less_one('rate', f.rate_least, 0, good, again, much, by)
  f.less_one('threshold', f.threshold_least, users, good, again, much, by)
  if again then
    f.cuts, f.from, f.hold, f.before = f.cuts + 1, ms, ms + f.done(), wait
  end
end

-- So many have begun to wait since the last decision that hardly anybody is to
-- enter before the next one, which knows whether they still do.
function f.hold_on()
  if f.room and f.rate_most > 0 then
    f.hold_one('rate', f.rate_most, f.rate_least)
  end
  if f.users > 0 and f.threshold_most > 0 then
    f.hold_one('threshold', f.threshold_most, f.threshold_least)
  end
  f.held, f.why = 1, LATENCY
end

function f.hold_one(name, most, least)
  local from = f[name] < 0 and most or f[name]
  f[name .. '_held'] = from
  f[name] = math.max(math.floor(PART * from), math.min(least, from))
end

-- All is as it was.
function f.let_go()
  for name, most in pairs({ rate = f.rate_most,
                            threshold = f.threshold_most }) do
    if f[name .. '_held'] > 0 then
      f[name] = f[name .. '_held'] < most and f[name .. '_held'] or -1
      f[name .. '_held'] = 0
    end
  end
  f.held = 0
  f.free()
end

-- It is too much no more: at least what came out meanwhile can be done, which a
-- backend that stood still for a moment made up for.
function f.make_up(busy)
  local found = f.takes('rate', f.delivered(busy), FEW)
  if f.rate >= 0 and found > f.rate_peak then
    local by = math.min(1, (busy.counted + busy.waiting) / ENOUGH)
    local peak = f.rate_peak + by * (found - f.rate_peak)
    f.rate_peak = math.floor(f.no_more('rate', peak))
    f.rate_mark = f.rate_peak
  end
end

-- What a limit is now: such a part of its peak, to which it rises by and by, from
-- half of it on.
function f.put(name, most, least, part)
  if f[name] < 0 or most == 0 then
    return
  end
  local to = part * f[name .. '_peak']
  to = math.min(to, math.max((1 + QUICK) * f[name] + 1, 0.5 * to))
  local limit = math.max(math.floor(to), least)
  f[name] = limit < most and limit or -1
end

-- The part of a peak that is let in, by how much waits at the backend, and what
-- was let in that has not come there yet.
function f.part_now(latency, why, delay)
  local part, coming = 1, 0
  if f.rate >= 0 and f.rate_peak > 0 then
    for _, was in ipairs(f.coming) do
      coming = coming + (was[1] / f.rate_peak - 1) * was[2]
    end
  end
  if ARG.latency ~= '0' then
    local wait = delay >= 0 and delay - WAITS * ARG.latency
                 or latency / 1000 - NEAR * ARG.latency
    part = 1 - (wait + math.max(coming, 0)) / IN_TIME
  end
  if why == ERRORS then
    part = math.min(part, FAILING)
  end
  return math.max(PART, math.min(part, 1))
end

-- What the median usually is: where it rises a queue builds up, long before it is
-- too much.  While something is limited it is hardly learned.
function f.note_usual(median)
  local usual = f.usual > 0 and f.usual or median
  local by = median < usual and 0.1 or f.why == 0 and 0.05 or 0.005
  f.usual = math.floor(usual + by * (median - usual))
  return median / math.max(f.usual, 1)
end

-- Whether a limit is near what was too much: where visitors come for long, it is, far
-- beyond, and on the way there.
function f.near(name)
  local peak, mark = f[name .. '_peak'], f[name .. '_mark']
  local below, beyond = BELOW, BEYOND
  if f.come_long() then
    below, beyond = 0, BEYOND_MANY
  end
  return f[name] >= 0 and peak > below * mark and peak < beyond * mark
end

-- No further than what was let in then is seen to be well now allows: near what
-- was too much a little more than that.
function f.grow_one(name, most, least, room, good)
  local peak = math.max(f[name .. '_peak'], least)
  if f[name] < TRUST * peak then
    return
  end
  local ahead, slow = AHEAD, ANYHOW
  if f.near(name) then
    ahead, slow = PROBE, PROBED
  end
  local to = peak * (1 + f.growth / 1000 * room)
  local shown = f.takes(name, good, FEW)
  if shown >= 0 then
    to = math.min(to, math.max(ahead * shown, peak * (1 + slow / 1000 * room)))
  end
  f[name .. '_peak'] = math.ceil(math.min(most, to))
end

-- Well within what is allowed peaks grow; faster each time while nothing is seen
-- of it, to so many times what is shown to be well.
function f.grow(new, last, two, latency, delay)
  local room, part = 1, math.max(latency / 1000, delay) / ARG.latency
  if ARG.latency ~= '0' then
    room = latency < 0 and 0
           or math.max(0, math.min(1, (FULL - part) / (FULL - FAR)))
  end
  if ARG.errors ~= '-1' and f.failing(new, ARG.errors / 20000) > 0 then
    room = 0
  end

  local median = f.percentile(last, 0, 0.5)
  local rise = median >= 0 and f.note_usual(median) or 1
  if latency < 0 and ARG.latency ~= '0' then
    return
  elseif rise > RISEN or room == 0 then
    f.growth = SLOW
  elseif rise > QUIET then
    f.growth = math.max(SLOW, math.floor(0.7 * f.growth))
  elseif room > 0.5 then
    local near = f.near('rate') or f.near('threshold')
    local faster = near and PROBING or FASTER
    f.growth = math.min(near and CAREFUL or FASTEST,
                        math.max(SLOW, math.ceil(faster * f.growth)))
  end
  local good = math.max(f.delivered(two), f.delivered(new))
  f.grow_one('rate', f.rate_most, f.rate_least, room, good)
  f.grow_one('threshold', f.threshold_most, f.threshold_least, room, good)
end

-- Which of the two is more than what is allowed; nil: neither.
function f.over(new, last, latency, two, delay)
  if ARG.latency ~= '0' and latency > 1000 * ARG.latency
     and f.percentile(two, 0) > 1000 * ARG.latency
  then
    return LATENCY
  end
  if ARG.latency ~= '0' and delay > ARG.latency + 0 and two.least >= USERS
  then
    return LATENCY
  end
  local most = ARG.errors / 10000
  if ARG.errors ~= '-1' and f.failing(new, most) > 0
     and f.failing(last, most) > 0
  then
    return ERRORS
  end
end

-- Nobody enters but on trial.
function f.stop(pause)
  if f.stopped == 0 then
    if f.cuts == 0 then
      f.rate_peak, f.threshold_peak = 0, 0
      f.rate_best = f.rate >= 0 and f.rate or f.entering
      f.threshold_best = f.threshold >= 0 and f.threshold or f.users * 1000
    end
  end
  f.stopped, f.why, f.growth, f.good = 1, PAUSED, 0, 0
  f.rate, f.threshold = 0, 0
  f.trial_n, f.trial_at = 0, pause > 0 and pause - TRIAL or ms
  f.trial = math.floor(math.max(ARG.threshold_min + 0, 1))
  f.pause, f.from, f.begun = pause, ms, true
end

-- As long as there is something left to do, what comes out is what it can do.
function f.find(two, by)
  local good = f.delivered(two)
  for _, name in ipairs({ 'rate', 'threshold' }) do
    local found = f.takes(name, good, FEW)
    if found >= 0 then
      local peak = f[name .. '_peak']
      f[name .. '_peak'] = math.floor(math.max(peak, peak + by * (found - peak)))
    end
  end
end

-- What one limit begins with again, where it is, or was, in use; it goes on from
-- there quickly if what it takes is not known.
function f.again(name, least, used)
  local best, peak = f[name .. '_best'], f[name .. '_peak']
  if best == 0 and not used then
    return -1
  end
  local limit = 0.8 * peak
  if limit <= least then
    limit = math.max(least, 0.25 * best)
    f.growth = FASTEST
  end
  f[name .. '_peak'] = math.floor(math.max(limit, peak))
  return math.floor(limit)
end

function f.resume()
  f.stopped, f.pause, f.growth, f.trial_n, f.cuts = 0, 0, 0, 0, 0
  f.rate = f.again('rate', f.rate_least, f.room)
  f.threshold = f.again('threshold',
                        math.max(f.threshold_least, f.trial * 1000),
                        f.users > 0)
  f.why = f.rate + f.threshold > -2 and ERRORS or 0
  f.hold = ms + 1000
end

-- Whether those on trial had answers, one user's failures left out.
function f.succeeds(sum, share)
  local top = math.min(sum.failed_top, sum.failed)
  return sum.counted > sum.failed and 2 * sum.hung < sum.counted
         and sum.failed - top <= share * (sum.counted - top)
end

-- Every 5 s some enter, the first ones once nothing waits and fails any more; and
-- more of them where the last ones had answers, which is seen sooner if each had
-- one.
function f.try(all, new, two)
  local soon = ms >= f.trial_at + SOON_TRIED
  if f.trial_n > 0 then
    soon = soon and two.failed == 0 and new.hung == 0
           and new.counted - new.failed >= f.trial_n
  else
    soon = soon and f.pause == 0 and two.late == 0 and two.failed == 0
  end
  if ms < f.trial_at + TRIAL and not soon then
    return
  end
  if f.trial_n > 0 and all.counted > 0 then
    if soon or f.succeeds(all, 0.2) then
      f.good = f.good + 1
      f.trial = f.trial * 4
    else
      f.good = 0
      f.trial = math.floor(math.max(ARG.threshold_min + 0, 1))
    end
  end
  if f.good >= 2 then
    f.resume()
    return
  end
  f.trial_n, f.trial_at, f.from, f.begun = f.trial, ms, ms, true
end

-- Over half of what is asked fails, or hangs.
function f.broken(all, new)
  local top = math.min(new.failed_top, new.failed)
  local failed = new.failed - top + new.hung
  local hung = all.hung > 0 and all.hung + 1 or 0
  return all.failed_users + hung >= USERS
         and 2 * failed > new.counted - top + new.hung
end

-- The pause that a backend asks for, until when; 0: none.  A user of several hosts
-- is several users: others are to be there too.
function f.asked(all, new)
  local others = all.retry - math.min(all.retry_top, all.retry)
  if all.retry_users < USERS or others < USERS - 1 or 10 * new.retry < new.counted
     or new.retry == 0 or f.pause > ms
  then
    return 0
  end
  local seconds = math.ceil(new.retry_seconds / new.retry)
  return ms + math.min(PAUSE, seconds * 1000)
end

-- Too little to judge by gets more, by and by, unless the little says no.
function f.drift(all)
  local latency = f.percentile(all, 1)
  if ms - f.idle <= WINDOW or f.failing(all, 0.2) > 0 or all.late > 0
     or (ARG.latency ~= '0' and latency > ARG.latency * 1000)
  then
    return
  end
  for name, most in pairs({ rate = f.rate_most,
                            threshold = f.threshold_most }) do
    if f[name] >= 0 then
      local limit = math.floor(f[name] + 0.01 * most)
      f[name] = limit < most and limit or -1
      f[name .. '_peak'] = math.max(f[name .. '_peak'], limit)
    end
  end
  f.free()
end

-- Nothing limits any more.
function f.free()
  if f.rate < 0 and f.threshold < 0 then
    f.why, f.growth = 0, 0
  end
end

function f.decide(all, new, last, two, busy)
  local enough, held = all.requests + all.hung >= FEW, f.held == 1
  if held then
    f.let_go()
  end

  local pause = enough and f.asked(all, new) or 0
  if pause > 0 then
    f.stop(pause)
  elseif f.stopped == 1 then
    if f.pause == 0 and (two.least or two.late) >= USERS then
      f.find(two, 0.5)
    end
    f.try(all, new, two)
  elseif enough and f.broken(all, new) then
    f.stop(0)
    f.find(two, 1)
  elseif not enough or all.counted + all.late < SOME then
    f.drift(all)
    return
  else
    f.steer(new, last, two, busy, held)
    return
  end
  f.idle = ms
end

function f.steer(new, last, two, busy, held)
  local latency, delay = -1, f.delay(two)
  if new.counted + new.late >= SOME then
    latency = math.min(f.percentile(new, 1), f.percentile(last, 1))
  end
  local why = f.over(new, last, latency, two, delay)
  if not why and not held and f.is_sudden(two) then
    f.hold_on()
    return
  end
  if why then
    f.idle = ms
    f.down(two, busy, latency, why, delay)
  else
    if f.cuts > 0 then
      f.make_up(busy)
    end
    f.cuts = 0
    f.grow(new, last, two, latency, delay)
  end
  local part = f.part_now(latency, why, delay)
  f.put('rate', f.rate_most, f.rate_least, part)
  f.put('threshold', f.threshold_most, f.threshold_least, part)
  f.free()
end

-- Of a Redis that lost it hosts know.
function f.hear_host()
  local at = ARG.host_at + 0
  if at <= f.at or at > us or us - at > LAPSE * 1000 then
    return
  end
  f.at, f.why = at, ARG.host_why + 0
  f.rate = ARG.host_rate + 0
  f.threshold = ARG.host_threshold * (ARG.host_threshold + 0 > 0 and 1000 or 1)
  f.rate_peak, f.threshold_peak = math.max(f.rate, 0), math.max(f.threshold, 0)
  if f.why == PAUSED then
    f.bounds()
    f.stop(ms + math.min(ARG.host_pause + 0, PAUSE))
  end
end

-- Where scripts that let people in look.
function f.apply()
  if ARG.what == 'on' and f.why > 0 then
    local fresh = call('EXISTS', KEY.state) == 0
    local total = (call('HMGET', KEY.state, 'total')[1] or 0) + 0
    local room = call('HMGET', KEY.vwr, 'serving', 'next', 'activation')
    local serving, issued = (room[1] or 0) + 0, (room[2] or 0) + 0
    local activation = room[3] or '0'
    call('HSET', KEY.state, 'follow', f.int(ms + LAPSE),
         'follow_rate', f.int(f.rate),
         'follow_threshold',
         f.int(f.threshold < 0 and -1 or math.floor(f.threshold / 1000)),
         'follow_trial', f.int(f.stopped == 1 and f.trial_n or -1))
    if f.begun then
      -- nobody took the last one: it goes on
      serving = math.max(serving, math.min(serving, issued) + f.trial_n)
      call('HSET', KEY.state, 'follow_total', f.int(total + f.trial_n),
           'follow_serving', f.int(serving), 'follow_of', activation)
    end
    if fresh then
      call('EXPIRE', KEY.state, 3600)
    end
  else
    call('HDEL', KEY.state, 'follow', 'follow_rate', 'follow_threshold',
         'follow_trial', 'follow_total', 'follow_serving', 'follow_of')
  end
end

function f.keep(...)
  local fields = {...}
  f.cut_at = f.from
  for _, name in ipairs(STATE) do
    fields[#fields + 1] = name
    fields[#fields + 1] = f.int(f[name])
  end
  call('HSET', KEY.follow, unpack(fields))
  call('EXPIRE', KEY.follow, 600)
end

function f.answer(all)
  local latency = -1
  if all.requests >= FEW then
    latency = f.percentile(all, 0)
  end
  return { [REPLY.us] = us,
           [REPLY.at] = f.at,
           [REPLY.rate] = f.rate,
           [REPLY.limit] = f.threshold < 0 and -1
                           or math.floor(f.threshold / 1000),
           [REPLY.why] = f.why,
           [REPLY.pause] = math.max(0, f.pause - ms),
           [REPLY.latency] = latency,
           [REPLY.requests] = all.requests,
           [REPLY.counted] = all.counted,
           [REPLY.failed] = all.failed,
           [REPLY.busy] = (f.why > 0 or all.requests > 0) and 1 or 0 }
end


if f.at == 0 or f.at > us + 1000000 then
  -- nothing is known, or Redis's clock went back
  for _, name in ipairs(STATE) do
    f[name] = 0
  end
  f.rate, f.threshold = -1, -1
end

if f.cut_at ~= f.from and f.since ~= f.from - 1 then
  -- a host of a version before has cut, which does not say from where: no more
  -- than may be; of hosts between some would take 0 for the most there is
  f.bounds()
  f.rate_over, f.threshold_over = f.rate_most, f.threshold_most
  f.rate_mark, f.threshold_mark = f.rate_peak, f.threshold_peak
  f.since = f.from - 1
end

f.hear_host()

if ARG.what == 'off' then
  f.rate, f.threshold, f.why, f.stopped, f.pause = -1, -1, 0, 0, 0
  f.at = us
  f.apply()
  call('UNLINK', KEY.follow)
  return f.answer(f.named(f.sum()))
end

local open = f.gather()
local span = us - f.at

if span < STEP * 1000 then
  call('HSET', KEY.follow, 'open', f.part(open))
  return f.answer((f.windows()))
end

open[1], open[2] = ms, math.min(math.floor(span / 1000), WINDOW)
f.parts = (f.parts + 1) % PARTS

f.bounds()
open.entered = f.note_entering(open[2])
f.note_came(open)
call('HSET', KEY.follow, 'part' .. f.parts, f.part(open))
local all, new, last, two, busy = f.windows()
f.at = us
f.decide(all, new, last, two, busy)
f.apply()
f.keep('open', f.part(f.sum()))

return f.answer(all)
