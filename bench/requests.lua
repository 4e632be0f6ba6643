-- The load generator's script:
--
--     wrk -s requests.lua URL -- FILE SKIP EVENT [PAUSE]
--
-- The first line of FILE is a request with "%s" in it, "\r\n" written as "|"
-- and EVENT for the event's id; each line that follows has the values, with
-- tabs between them, of a request of its own.  All are made before the clock
-- runs.  SKIP requests are left out: a run goes on where another one stopped.
-- PAUSE is of each connection, ms before a request.

local requests, at = {}, 0

function init(args)
   local file = assert(io.open(args[1]))
   local template = file:read("*l"):gsub("|", "\r\n")
                                   :gsub("EVENT", args[3] or "")

   for line in file:lines() do
      local values = {}
      for value in line:gmatch("[^\t]+") do
         values[#values + 1] = value
      end
      requests[#requests + 1] = template:format(unpack(values))
   end

   at = tonumber(args[2]) % #requests

   local pause = tonumber(args[4] or 0)
   if pause > 0 then
      function delay() return pause end
   end
end

function request()
   at = at + 1
   local request = requests[at]
   if not request then
      at = 1
      request = requests[1]
   end
   return request
end

function done(summary, latency)
   local e = summary.errors
   print(("\nresult requests=%d us=%d failed=%d status=%d p50=%d p95=%d p99=%d")
         :format(summary.requests, summary.duration,
                 e.connect + e.read + e.write + e.timeout, e.status,
                 latency:percentile(50), latency:percentile(95),
                 latency:percentile(99)))
end
