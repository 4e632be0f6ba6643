-- What belongs to the draw of an activation besides its numbers: the commitment
-- to its secret, the source of its beacon, and the value of that.  Each is
-- written once, by whoever knows it first, and brought again by hosts when it was
-- lost.
--
-- what: look, beacon (an operator tells its value)
-- args: what value
--
-- What the host that calls knows of the activation, '': nothing; committed: when
-- the commitment was made, us of Redis, 0: the host makes it now.  Of two the
-- earlier stands, and the source that was told with it: a host that knows none
-- may have another key, or another configuration.  of: the draw that the beacon
-- belongs to, by its time: of two draws, each with a beacon, the earlier stands,
-- with its own.
-- args: activation commitment committed source beacon of
--
-- result: 1 the value stands; 0 of look; 2 there is no such draw, 3 it waits for
-- no beacon, 4 the lots are not counted, 5 another value stands.  us: Redis's time;
-- of: that of the draw which the texts are of; these are '' where there are none.
-- keys: vwr
-- reply: result us committed of commitment source beacon

local key, call = KEY.vwr, redis.call

local time = call('TIME')
local us = time[1] * 1000000 + time[2]

local h = call('HMGET', key, 'activation', 'draw_of', 'order', 'lots', 'drawn',
               'ready', 'commitment', 'source', 'beacon', 'committed')
local order, lots, drawn = (h[3] or 0) + 0, (h[4] or 0) + 0, (h[5] or 0) + 0
local commitment, source, beacon = h[7] or '', h[8] or '', h[9] or ''
local committed = (h[10] or 0) + 0

local function told(result)
  return { [REPLY.result] = result,
           [REPLY.us] = us,
           [REPLY.committed] = committed,
           [REPLY.of] = drawn,
           [REPLY.commitment] = commitment,
           [REPLY.source] = source,
           [REPLY.beacon] = beacon }
end

if h[1] ~= ARG.activation or h[2] ~= h[1] or order == 0 then
  commitment, source, beacon, committed = '', '', '', 0
  return told(2)
end

local function once(name, known, host)
  if known ~= '' or host == '' then
    return known
  end
  call('HSET', key, name, host)
  return host
end

-- the draw is made when its beacon is there
local function value(host)
  if beacon == '' and host ~= '' and order == 2 and drawn > 0 and lots > 0 then
    call('HSET', key, 'beacon', host, 'ready', string.format('%.0f', us))
    beacon = host
  end
end

local made = ARG.committed + 0
if made == 0 or made > us then
  made = us
end

local wanted = order == 2 and ARG.source or ''

if ARG.commitment ~= '' and (commitment == '' or made < committed) then
  if commitment ~= '' and wanted ~= '' then
    source = ''
  end
  commitment, committed = ARG.commitment, made
  call('HSET', key, 'commitment', commitment, 'committed',
       string.format('%.0f', committed))
end

source = once('source', source, wanted)
if ARG.of + 0 == drawn then
  value(ARG.beacon)
end

if ARG.what ~= 'beacon' then
  return told(0)
end

if order ~= 2 then
  return told(3)
end
if drawn == 0 or lots == 0 then
  return told(4)
end

value(ARG.value)
return told(beacon == ARG.value and 1 or 5)
