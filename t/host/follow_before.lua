-- lua/follow.lua as hosts of the version before send it, which do not know how many
-- requests wait: follow_rolling.t has it beside the one of today.

local LATENCY, ERRORS, PAUSED = 1, 2, 3
local STEP, LAPSE = 450, 120000
local USERS = 5
local TRIAL, SOON_TRIED, PAUSE = 5000, 600, 60000
local TRUST, ALIKE, LEAST, BLIND, AGAIN, FAILING = 0.95, 0.75, 0.03, 0.7, 0.6, 0.6
local NEAR, IN_TIME, PART, DONE = 0.7, 2000, 0.1, 5000
local FAR, FULL = 0.4, 0.75
local QUIET, RISEN = 1.3, 1.7
local QUICK, SLOW, FASTER, FASTEST, CAREFUL = 0.3, 7, 1.5, 250, 30
local BELOW, BEYOND = 0.85, 1.25
local call = redis.call
local time = call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
local STATE = { 'at', 'rate', 'threshold', 'why', 'stopped', 'pause', 'trial',
'trial_at', 'trial_n', 'good', 'hold', 'from', 'growth',
'rate_peak', 'threshold_peak', 'serving', 'entering', 'load',
'load_rate', 'load_users', 'parts', 'idle', 'cuts', 'before',
'usual', 'rate_best', 'threshold_best', 'rate_mark',
'threshold_mark', 'loads' }
local f = {}
local kept = call('HMGET', KEYS[1], 'open', unpack(STATE))
for i, name in ipairs(STATE) do
f[name] = (kept[i + 1] or 0) + 0
end
function f.int(n)
return string.format('%.0f', n)
end
local WINDOW = 5000
local FEW, ENOUGH = 20, 100
local PARTS, BINS = 12, 128
local DATA = { 'requests', 'counted', 'failed', 'failed_top', 'slow_top',
'failed_users', 'users', 'retry', 'retry_users',
'retry_seconds', 'late', 'hung' }
local now = { ARGV[8] + 0, ARGV[9] + 0, ARGV[10] + 0,
ARGV[11] + 0, ARGV[12] + 0, ARGV[13] + 0,
ARGV[14] + 0, ARGV[15] + 0, ARGV[16] + 0,
ARGV[17] + 0,
math.max(ARGV[19] - 1, 0), math.max(ARGV[20] - 1, 0) }
local retry_top = ARGV[18] + 0
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
sum.retry_top = sum.retry_top
+ ((#part - sums) % 2 == 1 and part[#part] or part[6])
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
part[#part + 1] = sum.retry_top
return cmsgpack.pack(part)
end
function f.report()
local part = { 0, 0, unpack(now) }
for bin, n in string.gmatch(ARGV[21], '(%d+) (%d+)') do
part[#part + 1] = math.min(bin + 0, BINS - 1)
part[#part + 1] = n + 0
end
part[#part + 1] = retry_top
return part
end
function f.sum()
return { bins = {}, n = 0, retry_top = 0 }
end
function f.named(sum)
for i, name in ipairs(DATA) do
sum[name] = sum[2 + i] or 0
end
sum.span = math.max(sum[2] or 0, 1)
local n = math.max(sum.n, 1)
sum.late, sum.hung = math.floor(sum.late / n), math.floor(sum.hung / n)
return sum
end
function f.gather()
local open = f.sum()
if kept[1] and us - f.at < WINDOW * 1000 and us >= f.at then
f.add(open, cmsgpack.unpack(kept[1]))
end
f.add(open, f.report())
return open
end
function f.windows()
local all, new, last, two = f.sum(), f.sum(), f.sum(), f.sum()
local names = {}
for i = 0, PARTS - 1 do
names[i + 1] = 'part' .. (f.parts - i) % PARTS
end
local parts, n = call('HMGET', KEYS[1], unpack(names)), 0
for _, packed in ipairs(parts) do
local part = packed and cmsgpack.unpack(packed) or { 0 }
local ended = part[1]
if ended > ms or ended <= ms - WINDOW then
break
end
f.add(all, part)
if all.n <= 2 then
f.add(two, part)
end
if ended > f.from and (n < 2 or (new[4] or 0) < ENOUGH) then
f.add(new, part)
n = n + 1
if (last[4] or 0) < FEW then
f.add(last, part)
end
end
end
return f.named(all), f.named(new), f.named(last), f.named(two)
end
function f.percentile(sum, doubt, share)
local n, top = sum.late, 0
for bin, count in pairs(sum.bins) do
n = n + count
top = math.max(top, bin)
end
if n == 0 then
return -1
end
local beyond = (n - math.min(sum.slow_top, n)) * (share or 0.05)
beyond = beyond + doubt * math.sqrt(beyond) + sum.slow_top - sum.late
local late = 0
if beyond < 0 then
beyond, late = 0, math.max(2 * ARGV[2], 1000) * 1000
end
for bin = top, 0, -1 do
beyond = beyond - (sum.bins[bin] or 0)
if beyond < 0 then
return math.max(late, math.floor(1000 * 2 ^ ((bin + 0.5) / 8)))
end
end
return late
end
function f.failing(sum, share)
local top = math.min(sum.failed_top, sum.failed)
local most = share * (sum.counted - top)
return sum.failed - top - most - math.sqrt(most)
end
function f.bounds()
local api = call('HMGET', KEYS[3], 'api_rate', 'active', 'serving')
local set = call('MGET', KEYS[4])[1]
f.rate_most = ((api[1] or -1) + 0 >= 0 and api[1] or ARGV[4]) * 1000
f.rate_least = math.min(ARGV[5] + 0, f.rate_most)
f.threshold_most = (set or ARGV[6]) * 1000
f.threshold_least = math.min(math.max(ARGV[7] + 0, 1) * 1000,
f.threshold_most)
f.room = api[2] == '1'
f.served = (api[3] or 0) + 0
f.users = call('ZCARD', KEYS[5])
end
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
function f.note_load(new)
if f.rate >= 0 and (f.growth > 2 * SLOW
or math.abs(f.entering - f.rate) > 0.15 * f.rate)
then
return
end
f.loads = math.min(f.loads + 1, 10)
local load, by = new.counted * 1000000 / new.span, 1 / f.loads
f.load = f.load + by * (load - f.load)
f.load_rate = f.load_rate + by * (f.entering - f.load_rate)
f.load_users = f.load_users + by * (f.users * 1000 - f.load_users)
end
function f.found(load_used, good)
if f.loads < 5 or f.load == 0 or load_used == 0 then
return -1
end
return TRUST * good * load_used / f.load
end
function f.delivered(sum)
return (sum.counted - sum.failed) * 1000000 / sum.span
end
function f.cut_one(name, most, least, used, load_used, good)
local limited, from = f[name] >= 0, most
if limited then
from = math.min(math.max(f[name], f[name .. '_peak']), most)
elseif used > 0 then
from = math.min(most, used)
end
local peak = f.found(load_used, good)
if peak < 0 then
peak = BLIND * from
elseif limited and peak > ALIKE * from then
peak = TRUST * from
end
peak = math.max(LEAST * from, math.min(peak, TRUST * from))
f[name .. '_peak'] = math.floor(math.max(peak, least))
f[name .. '_mark'] = f[name .. '_peak']
f[name .. '_best'] = math.floor(math.max(from, 0.95 * f[name .. '_best']))
f[name] = limited and f[name] or math.floor(from)
end
function f.less_one(name, least, inside, load_used, good, again)
local peak = f[name .. '_peak']
if f[name] < 0 then
return
end
local found = f.found(load_used, good)
if f.why == LATENCY and found >= 0 and found < peak then
peak = peak + 0.4 * (found - peak)
end
if again and inside < 1.1 * f[name] then
peak = AGAIN * peak
end
f[name .. '_peak'] = math.floor(math.max(peak, least))
f[name .. '_mark'] = f[name .. '_peak']
end
function f.down(new, two, latency, why)
local users, first = f.users * 1000, f.cuts == 0
if first and ms < f.hold then
return
end
if first then
if f.room and f.rate_most > 0 then
f.cut_one('rate', f.rate_most, f.rate_least, f.entering, f.load_rate,
f.delivered(new))
end
if f.users > 0 and f.threshold_most > 0 then
f.cut_one('threshold', f.threshold_most, f.threshold_least, users,
f.load_users, f.delivered(new))
end
f.why, f.cuts, f.growth, f.from, f.before = why, 1, 0, ms, latency
f.hold = ms + (f.loads < 5 and 0.6 or 1) * DONE
return
end
f.before = math.max(f.before, latency)
local again = ms >= f.hold and (why == ERRORS or latency >= 0.8 * f.before)
local good = f.delivered(two)
f.why = why
f.less_one('rate', f.rate_least, 0, f.load_rate, good, again)
f.less_one('threshold', f.threshold_least, users, f.load_users, good, again)
if again then
f.cuts, f.from, f.hold, f.before = f.cuts + 1, ms, ms + DONE, latency
end
end
function f.put(name, most, least, part)
if f[name] < 0 or most == 0 then
return
end
local to = math.min(part * f[name .. '_peak'], (1 + QUICK) * f[name] + 1)
local limit = math.max(math.floor(to), least)
f[name] = limit < most and limit or -1
end
function f.part_now(latency, why)
local part = 1
if ARGV[2] ~= '0' and latency >= 0 then
part = 1 - (latency / 1000 - NEAR * ARGV[2]) / IN_TIME
end
if why == ERRORS then
part = math.min(part, FAILING)
end
return math.max(PART, math.min(part, 1))
end
function f.note_usual(median)
local usual = f.usual > 0 and f.usual or median
local by = median < usual and 0.1 or f.why == 0 and 0.05 or 0.005
f.usual = math.floor(usual + by * (median - usual))
return median / math.max(f.usual, 1)
end
function f.grow_one(name, most, least, room)
local peak, best = f[name .. '_peak'], f[name .. '_best']
local mark, by = f[name .. '_mark'], f.growth
peak = math.max(peak, least)
if f[name] < TRUST * peak then
return
end
if peak > 0.8 * best or (peak > BELOW * mark and peak < BEYOND * mark) then
by = math.min(by, CAREFUL)
end
f[name .. '_peak'] = math.ceil(math.min(most, peak * (1 + by / 1000 * room)))
end
function f.grow(new, last, latency)
local room, part = 1, latency / 1000 / ARGV[2]
if ARGV[2] ~= '0' and latency >= 0 then
room = math.max(0, math.min(1, (FULL - part) / (FULL - FAR)))
end
if ARGV[3] ~= '-1' and f.failing(new, ARGV[3] / 20000) > 0 then
room = 0
end
local median = f.percentile(last, 0, 0.5)
local rise = median >= 0 and f.note_usual(median) or 1
if rise > RISEN or room == 0 then
f.growth = SLOW
f.rate_mark, f.threshold_mark = f.rate_peak, f.threshold_peak
elseif rise > QUIET then
f.growth = math.max(SLOW, math.floor(0.7 * f.growth))
elseif room > 0.5 then
f.growth = math.min(FASTEST, math.max(SLOW, math.ceil(FASTER * f.growth)))
end
f.grow_one('rate', f.rate_most, f.rate_least, room)
f.grow_one('threshold', f.threshold_most, f.threshold_least, room)
end
function f.over(new, last, latency)
if ARGV[2] ~= '0' and latency > 1000 * ARGV[2] then
return LATENCY
end
local most = ARGV[3] / 10000
if ARGV[3] ~= '-1' and f.failing(new, most) > 0
and f.failing(last, most) > 0
then
return ERRORS
end
end
function f.stop(pause)
if f.stopped == 0 then
if f.cuts == 0 then
f.rate_best = f.rate >= 0 and f.rate or f.entering
f.threshold_best = f.threshold >= 0 and f.threshold or f.users * 1000
end
f.rate_peak, f.threshold_peak = 0, 0
end
f.stopped, f.why, f.growth, f.good = 1, PAUSED, 0, 0
f.rate, f.threshold = 0, 0
f.trial_n, f.trial_at = 0, pause > 0 and pause - TRIAL or ms
f.trial = math.floor(math.max(ARGV[7] + 0, 1))
f.pause, f.from, f.begun = pause, ms, true
end
function f.find(two, by)
local good = f.delivered(two)
for name, used in pairs({ rate = f.load_rate, threshold = f.load_users }) do
local found = f.found(used, good)
if found >= 0 then
local peak = f[name .. '_peak']
f[name .. '_peak'] = math.floor(peak + by * (found - peak))
end
end
end
function f.again(name, least, used)
local best, peak = f[name .. '_best'], f[name .. '_peak']
if best == 0 and not used then
return -1
end
local limit = 0.8 * peak
f[name .. '_mark'] = peak
if limit <= least then
limit = math.max(least, 0.15 * best)
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
f.from, f.hold = ms, ms + 1000
end
function f.succeeds(sum, share)
local top = math.min(sum.failed_top, sum.failed)
return sum.counted > sum.failed and 2 * sum.hung < sum.counted
and sum.failed - top <= share * (sum.counted - top)
end
function f.try(all, new, two)
local soon = ms >= f.trial_at + SOON_TRIED
if f.trial_n > 0 then
soon = soon and new.counted >= f.trial_n and f.succeeds(new, 0)
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
f.trial = math.floor(math.max(ARGV[7] + 0, 1))
end
end
if f.good >= 2 then
f.resume()
return
end
f.trial_n, f.trial_at, f.from, f.begun = f.trial, ms, ms, true
end
function f.broken(all, new)
local top = math.min(new.failed_top, new.failed)
local failed = new.failed - top + new.hung
local hung = all.hung > 0 and all.hung + 1 or 0
return all.failed_users + hung >= USERS
and 2 * failed > new.counted - top + new.hung
end
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
function f.drift(all)
local latency = f.percentile(all, 1)
if ms - f.idle <= 2 * WINDOW or f.failing(all, 0.2) > 0 or all.late > 0
or (ARGV[2] ~= '0' and latency > ARGV[2] * 1000)
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
function f.free()
if f.rate < 0 and f.threshold < 0 then
f.why, f.growth = 0, 0
end
end
function f.decide(all, new, last, two)
local latency = math.min(f.percentile(new, 1), f.percentile(last, 1))
local enough = all.requests + all.hung >= FEW
local pause = enough and f.asked(all, new) or 0
if pause > 0 then
f.stop(pause)
elseif f.stopped == 1 then
if two.late > 0 and f.pause == 0 then
f.find(two, 0.5)
end
f.try(all, new, two)
elseif enough and f.broken(all, new) then
f.stop(0)
f.find(two, 1)
elseif not enough or new.counted + new.late < FEW then
f.drift(all)
return
else
f.steer(new, last, two, latency)
end
f.idle = ms
end
function f.steer(new, last, two, latency)
local why = f.over(new, last, latency)
if why then
f.down(new, two, latency, why)
else
f.cuts = 0
f.note_load(new)
f.grow(new, last, latency)
end
local part = f.part_now(latency, why)
f.put('rate', f.rate_most, f.rate_least, part)
f.put('threshold', f.threshold_most, f.threshold_least, part)
f.free()
end
function f.hear_host()
local at = ARGV[22] + 0
if at <= f.at or at > us or us - at > LAPSE * 1000 then
return
end
f.at, f.why = at, ARGV[25] + 0
f.rate = ARGV[23] + 0
f.threshold = ARGV[24] * (ARGV[24] + 0 > 0 and 1000 or 1)
f.rate_peak, f.threshold_peak = math.max(f.rate, 0), math.max(f.threshold, 0)
if f.why == PAUSED then
f.bounds()
f.stop(ms + math.min(ARGV[26] + 0, PAUSE))
end
end
function f.apply()
if ARGV[1] == 'on' and f.why > 0 then
local fresh = call('EXISTS', KEYS[2]) == 0
local total = (call('HMGET', KEYS[2], 'total')[1] or 0) + 0
local room = call('HMGET', KEYS[3], 'serving', 'next', 'activation')
local serving, issued = (room[1] or 0) + 0, (room[2] or 0) + 0
local activation = room[3] or '0'
call('HSET', KEYS[2], 'follow', f.int(ms + LAPSE),
'follow_rate', f.int(f.rate),
'follow_threshold',
f.int(f.threshold < 0 and -1 or math.floor(f.threshold / 1000)),
'follow_trial', f.int(f.stopped == 1 and f.trial_n or -1))
if f.begun then
serving = math.max(serving, math.min(serving, issued) + f.trial_n)
call('HSET', KEYS[2], 'follow_total', f.int(total + f.trial_n),
'follow_serving', f.int(serving), 'follow_of', activation)
end
if fresh then
call('EXPIRE', KEYS[2], 3600)
end
else
call('HDEL', KEYS[2], 'follow', 'follow_rate', 'follow_threshold',
'follow_trial', 'follow_total', 'follow_serving', 'follow_of')
end
end
function f.keep(...)
local fields = {...}
for _, name in ipairs(STATE) do
fields[#fields + 1] = name
fields[#fields + 1] = f.int(f[name])
end
call('HSET', KEYS[1], unpack(fields))
call('EXPIRE', KEYS[1], 600)
end
function f.answer(all)
local latency = -1
if all.requests >= FEW then
latency = f.percentile(all, 0)
end
return { us,
f.at,
f.rate,
f.threshold < 0 and -1
or math.floor(f.threshold / 1000),
f.why,
math.max(0, f.pause - ms),
latency,
all.requests,
all.counted,
all.failed,
(f.why > 0 or all.requests > 0) and 1 or 0 }
end
if f.at == 0 or f.at > us + 1000000 then
for _, name in ipairs(STATE) do
f[name] = 0
end
f.rate, f.threshold = -1, -1
end
f.hear_host()
if ARGV[1] == 'off' then
f.rate, f.threshold, f.why, f.stopped, f.pause = -1, -1, 0, 0, 0
f.at = us
f.apply()
call('UNLINK', KEYS[1])
return f.answer(f.named(f.sum()))
end
local open = f.gather()
local span = us - f.at
if span < STEP * 1000 then
call('HSET', KEYS[1], 'open', f.part(open))
return f.answer((f.windows()))
end
open[1], open[2] = ms, math.min(math.floor(span / 1000), WINDOW)
f.parts = (f.parts + 1) % PARTS
call('HSET', KEYS[1], 'part' .. f.parts, f.part(open))
f.bounds()
f.note_entering(open[2])
local all, new, last, two = f.windows()
f.at = us
f.decide(all, new, last, two)
f.apply()
f.keep('open', f.part(f.sum()))
return f.answer(all)
