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
-- 503 with Retry-After, users likewise, their seconds in all; users who wait for a
-- header for long, and for 5 s; and times, a list of "bin count" with spaces
-- between.
-- args: requests counted failed failed_top slow_top failed_users users
-- args: retry retry_users retry_seconds late hung bins
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

-- ms: of a decision, of what it looks at, and of what hosts know
local STEP, WINDOW, LAPSE = 450, 5000, 120000

-- requests in a window that decide anything, users whose failures stop it, and
-- requests of which the newest are enough
local FEW, USERS, ENOUGH = 20, 5, 100

-- ms: between trials, as early as one is over that goes well, and that a pause
-- lasts at most
local TRIAL, SOON_TRIED, PAUSE = 5000, 1500, 60000

-- parts of a window, and bins of times
local PARTS, BINS = 12, 128

-- Of what a backend is found to take (its peak): so much it gets once it had too
-- much, with something to do still; less by how near the latency is, a quarter of
-- that, where it is not too much yet; up to where it is trusted at once; from where
-- on a peak is the one before; and beyond which it must be another backend by now.
local DRAIN, SOFT, TRUST, ALIKE, BEYOND = 0.6, 0.25, 0.95, 0.75, 1.3

-- the least and the most part that a peak is of what was let in, and the one where
-- nothing is known; what is left of a limit and its peak that were too much again
local CUT_LEAST, CUT_MOST, CUT_BLIND = 0.3, 0.95, 0.7
local CUT_AGAIN, CUT_TRUST = 0.5, 0.85

-- ms in which what waits at the backend is to be done
local IN_TIME = 2000

-- times what is usual, of the latency: where nothing more is given, and where
-- something is taken, from such a part of what is allowed on
local RISES, RISEN, SOON = 1.4, 1.6, 0.6

-- growth of a limit by a decision: up to its trusted part; and in 1/1000, at first,
-- by how much faster each time, at most, and at most where there was more before
local QUICK, SLOW, FASTER, FAST, FASTEST = 0.3, 7, 1.1, 15, 140

local call = redis.call

local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)

local STATE = { 'at', 'rate', 'threshold', 'why', 'stopped', 'pause', 'trial',
                'trial_at', 'trial_n', 'good', 'hold', 'from', 'growth',
                'rate_peak', 'threshold_peak', 'serving', 'entering', 'load',
                'load_rate', 'load_users', 'parts', 'idle', 'cuts', 'before',
                'calm', 'soft', 'rate_best', 'threshold_best' }

local f = {}
local kept = call('HMGET', KEY.follow, 'open', unpack(STATE))

for i, name in ipairs(STATE) do
  f[name] = (kept[i + 1] or 0) + 0
end

local DATA = { 'requests', 'counted', 'failed', 'failed_top', 'slow_top',
               'failed_users', 'users', 'retry', 'retry_users',
               'retry_seconds', 'late', 'hung' }

local now = { ARG.requests + 0, ARG.counted + 0, ARG.failed + 0,
              ARG.failed_top + 0, ARG.slow_top + 0, ARG.failed_users + 0,
              ARG.users + 0, ARG.retry + 0, ARG.retry_users + 0,
              ARG.retry_seconds + 0,
              -- without one user, whom all hosts may have
              math.max(ARG.late - 1, 0), math.max(ARG.hung - 1, 0) }


function f.int(n)
  return string.format('%.0f', n)
end

-- A part of a window is a list: when it ended, how long it was, ms, the sums, and
-- bins with what is in them.
function f.add(sum, part)
  local sums, bins = 2 + #DATA, sum.bins
  sum.n = sum.n + 1
  for i = 1, sums do
    sum[i] = (sum[i] or 0) + part[i]
  end
  for i = sums + 1, #part - 1, 2 do
    local bin = part[i]
    bins[bin] = (bins[bin] or 0) + part[i + 1]
  end
end

function f.part(sum)
  local part = {}
  for i = 1, 2 + #DATA do
    part[i] = sum[i] or 0
  end
  for bin, n in pairs(sum.bins) do
    part[#part + 1] = bin
    part[#part + 1] = n
  end
  return cmsgpack.pack(part)
end

function f.report()
  local part = { 0, 0, unpack(now) }
  for bin, n in string.gmatch(ARG.bins, '(%d+) (%d+)') do
    part[#part + 1] = math.min(bin + 0, BINS - 1)
    part[#part + 1] = n + 0
  end
  return part
end

function f.sum()
  return { bins = {}, n = 0 }
end

function f.named(sum)
  for i, name in ipairs(DATA) do
    sum[name] = sum[2 + i] or 0
  end
  sum.span = math.max(sum[2] or 0, 1)
  -- how many there are at a time
  local n = math.max(sum.n, 1)
  sum.late, sum.hung = math.floor(sum.late / n), math.floor(sum.hung / n)
  return sum
end

-- What came since the last decision; what is too old is forgotten.
function f.gather()
  local open = f.sum()
  if kept[1] and us - f.at < WINDOW * 1000 and us >= f.at then
    f.add(open, cmsgpack.unpack(kept[1]))
  end
  f.add(open, f.report())
  return open
end

-- Three windows: all of the last 5 s, of the parts since the last cut the newest
-- that are enough, two at least, and of these the newest with a few: what is over
-- is over.
function f.windows()
  local all, new, last = f.sum(), f.sum(), f.sum()
  local names = {}
  for i = 0, PARTS - 1 do
    names[i + 1] = 'part' .. (f.parts - i) % PARTS
  end
  local parts, n = call('HMGET', KEY.follow, unpack(names)), 0
  for _, packed in ipairs(parts) do
    local part = packed and cmsgpack.unpack(packed) or { 0 }
    local ended = part[1]
    if ended > ms or ended <= ms - WINDOW then
      break
    end
    f.add(all, part)
    if ended > f.from and (n < 2 or (new[4] or 0) < ENOUGH) then
      f.add(new, part)
      n = n + 1
      if (last[4] or 0) < FEW then
        f.add(last, part)
      end
    end
  end
  return f.named(all), f.named(new), f.named(last)
end

-- The 95th percentile, us, without the slowest of one user; -1: there is none.
-- Users who have waited for long are slow ones.  doubt: by how many sigmas of
-- chance more may be slower.
function f.percentile(sum, doubt)
  local n, top = sum.late, 0
  for bin, count in pairs(sum.bins) do
    n = n + count
    top = math.max(top, bin)
  end
  if n == 0 then
    return -1
  end
  local beyond = (n - math.min(sum.slow_top, n)) * 0.05
  beyond = beyond + doubt * math.sqrt(beyond) + sum.slow_top - sum.late
  local late = 0
  if beyond < 0 then
    beyond, late = 0, math.max(2 * ARG.latency, 1000) * 1000
  end
  for bin = top, 0, -1 do
    beyond = beyond - (sum.bins[bin] or 0)
    if beyond < 0 then
      return math.max(late, math.floor(1000 * 2 ^ ((bin + 0.5) / 8)))
    end
  end
  return late
end

-- How many more failures there are than such a share of them, and chance, are;
-- without those of one user.
function f.failing(sum, share)
  local top = math.min(sum.failed_top, sum.failed)
  local most = share * (sum.counted - top)
  return sum.failed - top - most - math.sqrt(most)
end

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

-- How many enter a second, by the counter, which may call more than those who
-- come: smoothed over some decisions.
function f.note_entering(span)
  local entered = f.served - f.serving
  f.serving = f.served
  if not f.room or entered < 0 or span >= WINDOW then
    return
  end
  local rate = math.min(entered * 1000000 / math.max(span, 1),
                        f.rate >= 0 and f.rate or f.rate_most)
  f.entering = math.floor(f.entering + 0.3 * (rate - f.entering))
end

-- While all is well: what the backend answers a second, and for how many.
function f.note_load(new)
  local load = new.counted * 1000000 / new.span
  if f.load == 0 then
    f.load, f.load_rate, f.load_users = load, f.entering, f.users * 1000
    return
  end
  f.load = f.load + 0.1 * (load - f.load)
  f.load_rate = f.load_rate + 0.1 * (f.entering - f.load_rate)
  f.load_users = f.load_users + 0.1 * (f.users * 1000 - f.load_users)
end

-- Takes back a limit from what is used of it, to less than the backend is found
-- to do, by the part that has what waits there done in time.
function f.cut_one(name, most, least, used, load_used, good, part)
  local limit = f[name] >= 0 and math.min(f[name], most) or most
  local peak = f[name .. '_peak']
  if f.cuts == 0 then
    local from = used > 0 and math.min(limit, used) or limit
    peak = CUT_BLIND * from
    if f.load > 0 and load_used > 0 then
      peak = math.max(CUT_LEAST * from,
                      math.min(CUT_MOST * from, good * load_used / f.load))
    end
    -- less by a little is chance
    local before = f[name .. '_peak']
    if peak > ALIKE * before and peak < before then
      peak = TRUST * before
    end
    peak = math.min(peak, from)
    limit = part * peak
    f[name .. '_best'] = math.floor(math.max(from, 0.95 * f[name .. '_best']))
  else
    -- it was less than that
    limit = CUT_AGAIN * limit
    peak = math.min(peak, math.max(limit, CUT_TRUST * peak))
  end
  f[name .. '_peak'] = math.floor(math.max(peak, least))
  f[name] = math.floor(math.max(limit, least))
end

function f.cut(new, latency, why, soft)
  local good = (new.counted - new.failed) * 1000000 / new.span
  local part = DRAIN
  if soft then
    part = 1 - SOFT * latency / 1000 / ARG.latency
  elseif why == LATENCY then
    part = 1 - (latency / 1000 - ARG.latency / 2) / IN_TIME
    part = math.max(CUT_LEAST, math.min(DRAIN, part))
  end
  if f.room and f.rate_most > 0 then
    f.cut_one('rate', f.rate_most, f.rate_least, f.entering, f.load_rate, good,
              part)
  end
  if f.users > 0 and f.threshold_most > 0 then
    f.cut_one('threshold', f.threshold_most, f.threshold_least, f.users * 1000,
              f.load_users, good, part)
  end
  f.why, f.growth, f.before, f.from = why, 0, math.max(latency, 0), ms
  f.soft = ms + 2500
  if soft then
    f.hold = math.max(f.hold, ms + 4000)
  else
    f.cuts = f.cuts + 1
    f.hold = ms + 1000 + IN_TIME + math.min(f.before / 1000, 2000)
  end
end

-- Gives a limit more; growth -1: by the time alone, as nothing is known.
function f.grow_one(name, most, least, room)
  local limit, peak = f[name], f[name .. '_peak']
  if limit < 0 or most == 0 then
    return
  end
  if room < 0 then
    limit = limit + 0.01 * most
  elseif limit < TRUST * peak then
    limit = math.min(limit * (1 + QUICK * room), TRUST * peak + 1)
  else
    limit = limit * (1 + math.min(f.growth, f.fast(name)) / 1000 * room)
  end
  limit = math.max(math.floor(limit), least)
  f[name] = limit < most and limit or -1
end

-- Growth at most: well above what it was found to take, without any sign of it,
-- the backend is another one by now, and may be what it was before.
function f.fast(name)
  if f[name] < BEYOND * f[name .. '_peak'] then
    return FAST
  end
  return f[name] < 0.8 * f[name .. '_best'] and FASTEST or 2 * FAST
end

function f.grow(room, latency)
  if room > 0.5 then
    local most = math.max(f.rate >= 0 and f.fast('rate') or 0,
                          f.threshold >= 0 and f.fast('threshold') or 0)
    f.growth = math.min(most, math.ceil(f.growth
                        * (most == FASTEST and FASTER * FASTER or FASTER)))
    f.growth = math.max(most == FASTEST and FASTEST / 4 or SLOW, f.growth)
  elseif room >= 0 and latency > SOON * ARG.latency * 1000 then
    f.growth = SLOW
  end
  f.grow_one('rate', f.rate_most, f.rate_least, room)
  f.grow_one('threshold', f.threshold_most, f.threshold_least, room)
  if f.rate < 0 and f.threshold < 0 then
    f.why = 0
  end
end

-- Near to what is allowed a limit gives way ahead of it, a little.
function f.ease(by)
  for name, least in pairs({ rate = f.rate_least,
                             threshold = f.threshold_least }) do
    if f[name] >= 0 then
      f[name] = math.max(math.floor(f[name] * (1 - by)),
                         math.min(least, f[name]))
    end
  end
end

-- Whether the latency is above what it usually is, as where a queue begins to
-- build up long before it is too much.
function f.rising(latency)
  local calm = f.calm > 0 and f.calm or latency
  f.calm = math.floor(calm + (latency < calm and 0.2 or 0.05) * (latency - calm))
  if latency > RISEN * calm and latency > SOON * ARG.latency * 1000 then
    return -0.5
  end
  return latency > RISES * calm and 0 or 1
end

-- How far what is measured is from what is allowed: 1: far, 0: too near to give
-- more, below 0: beyond; and which of the two.
function f.headroom(new, last, latency)
  local room, why = 1, f.why
  if ARG.latency ~= '0' and latency >= 0 then
    local part = latency / 1000 / ARG.latency
    if part > 1 then
      return -1, LATENCY
    end
    room = math.min(1, (0.9 - part) / 0.4)
    room = math.min(room, f.rising(latency))
  end
  if ARG.errors ~= '-1' then
    local most = ARG.errors / 10000
    if f.failing(new, most) > 0 and f.failing(last, most) > 0 then
      return -1, ERRORS
    end
    if f.failing(new, most / 2) > 0 then
      room = math.min(room, 0)
    end
  end
  return math.max(room, -0.5), why
end

-- Nobody enters but on trial.
function f.stop(pause)
  if f.stopped == 0 then
    if f.cuts == 0 then
      f.rate_best = f.rate >= 0 and f.rate or f.entering
      f.threshold_best = f.threshold >= 0 and f.threshold or f.users * 1000
    end
    f.rate_peak, f.threshold_peak = f.rate_least, f.threshold_least
  end
  f.stopped, f.why, f.growth, f.good = 1, PAUSED, 0, 0
  f.rate, f.threshold = 0, 0
  f.trial_n, f.trial_at = 0, pause > 0 and pause - TRIAL or ms
  f.trial = math.floor(math.max(ARG.threshold_min + 0, 1))
  f.pause, f.from, f.begun = pause, ms, true
end

-- What one limit begins with again, where it is, or was, in use.
function f.again(name, least, used)
  local best = f[name .. '_best']
  if best == 0 and not used then
    return -1
  end
  return math.floor(math.max(least, 0.15 * best))
end

function f.resume()
  f.stopped, f.pause, f.growth, f.trial_n = 0, 0, 0, 0
  f.rate = f.again('rate', f.rate_least, f.room)
  f.threshold = f.again('threshold',
                        math.max(f.threshold_least, f.trial * 1000),
                        f.users > 0)
  f.why = f.rate + f.threshold > -2 and ERRORS or 0
  f.from, f.hold = ms, ms + 1000
end

-- Whether those on trial had answers, one user's failures left out.
function f.succeeds(sum, share)
  local top = math.min(sum.failed_top, sum.failed)
  return sum.counted > sum.failed and 2 * sum.hung < sum.counted
         and sum.failed - top <= share * (sum.counted - top)
end

-- Every 5 s some enter, and more of them where the last ones had answers, which
-- is seen sooner if each had one.
function f.try(all, new)
  local soon = ms >= f.trial_at + SOON_TRIED and f.trial_n > 0
               and new.counted >= f.trial_n and f.succeeds(new, 0)
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
  local others = all.retry - math.min(all.failed_top, all.retry)
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
  if ms - f.idle > 2 * WINDOW and f.failing(all, 0.2) <= 0 and all.late == 0
     and (ARG.latency == '0' or latency <= ARG.latency * 1000)
  then
    f.grow(-1, 0)
  end
end

function f.decide(all, new, last)
  local latency = math.min(f.percentile(new, 1), f.percentile(last, 1))
  local enough = all.requests + all.hung >= FEW

  local pause = enough and f.asked(all, new) or 0
  if pause > 0 then
    f.stop(pause)
  elseif f.stopped == 1 then
    f.try(all, new)
  elseif enough and f.broken(all, new) then
    f.stop(0)
  elseif not enough or new.counted + new.late < FEW then
    f.drift(all)
    return
  else
    f.steer(new, last, latency)
  end
  f.idle = ms
end

function f.steer(new, last, latency)
  local room, why = f.headroom(new, last, latency)
  if room == -1 then
    if ms < f.hold and not (f.cuts == 0 and why == LATENCY
                            and latency > 1500 * ARG.latency)
    then
      return
    end
    if f.cuts > 0 and why == LATENCY and latency < f.before then
      -- on the way
      f.before = latency
      return
    end
    f.cut(new, latency, why)
  elseif room == -0.5 then
    if ms >= f.soft and f.cuts == 0 and f.why > 0 then
      f.cut(new, latency, LATENCY, true)
    end
  elseif room < 0 then
    f.ease(-room * 0.1)
  else
    f.cuts = 0
    f.note_load(new)
    f.grow(room, latency)
  end
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
call('HSET', KEY.follow, 'part' .. f.parts, f.part(open))

f.bounds()
f.note_entering(open[2])
local all, new, last = f.windows()
f.at = us
f.decide(all, new, last)
f.apply()
f.keep('open', f.part(f.sum()))

return f.answer(all)
