-- What steps and calls of the waiting room hardly ever need: functions that
-- Redis would make anew for each call.  Put inside of a function of
-- vwr_lib.lua.

-- The room is written last: a call that is refused leaves it as it was.
function v.touch(...)
  v.touched, v.saved = v.ms, true
  call('EXPIRE', k.state, WEEK)
  call('EXPIRE', k.epoch, WEEK)
  if v.active == 1 then
    call('PERSIST', k.vwr)
  end
  v.write('touched', ...)
  if v.active == 0 then
    call('EXPIRE', k.vwr, WEEK)
  end
end

function v.save()
  v.rate = v.rate_in_force()
  v.draw_of = v.order > 0 and v.activation or 0
  v.stepped = v.updated
  v.touch('active', 'next', 'serving', 'part', 'rate', 'activation',
          'changed', 'updated', 'set_by', 'api_rate', 'issue', 'issue_next',
          'issue_at', 'restored', 'began', 'dead', 'draw_of', 'order', 'lots',
          'drawn', 'base', 'ready', 'stepped', 'older', 'hand_from', 'hand_to',
          'passed', 'rest')
end

function v.begin(activation)
  v.activation = activation
  v.next, v.serving, v.part = 0, 0, 0
  v.hand_from, v.hand_to, v.passed, v.rest = 0, 0, 0, 0
  v.began = 0
  v.order, v.lots, v.drawn, v.base, v.ready = 0, 0, 0, 0, 0
  v.committed = 0
  v.skip_from, v.skip_to = 0, 0
  call('HDEL', k.vwr, 'commitment', 'committed', 'source', 'beacon', 'skipped')
  v.updated = v.us
  v.issue_next, v.issue_at = 0, v.us
end

-- Tickets that were issued last may be known to no host that calls: so
-- positions go on well behind what this host knows, once, as far as that
-- covers what other hosts know.
function v.skip()
  if host.next > v.next or v.ms - v.restored > 10000 or v.ms < v.restored then
    v.issue = math.max(v.issue, host.issue)
    v.skip_from = math.max(v.next, host.next)
    v.skip_to = v.skip_from + math.max(1000, 2 * v.issue)
    v.next, v.issue_next = v.skip_to, v.skip_to
    v.keep_skipped()
  end
end

function v.keep_skipped()
  call('HSET', k.vwr, 'skipped', v.int(v.activation) .. ' '
                                 .. v.int(v.skip_from) .. ' '
                                 .. v.int(v.skip_to))
end

-- A host that starts just after a loss knows nothing, and vwr=on begins a new
-- activation by it.  When somebody tells of the one before, that goes on, and
-- the few tickets of the new one are given up for the many of the old.
function v.hear_earlier()
  if host.activation == 0 or host.activation >= v.activation
     or v.began == 0 or v.ms - v.began > 60000 or v.ms < v.began then
    return
  end
  v.dead = v.activation
  v.begin(host.activation)
  v.restored = 0
  v.skip()
  v.serving = host.serving
  v.api_rate = host.api_rate
  v.restored = v.ms
  v.lost = 1
  v.changed = v.tick(1)
  v.save()
end

-- A room that was activated at a time that can't be right begins anew.
function v.mend()
  if v.active == 1 and v.activation == 0 then
    v.begin(v.tick(1))
    v.changed = v.tick(1)
    v.save()
  end
end

-- Somebody who knows more than Redis does tells of a loss of data.
function v.hear_all()
  v.hear_earlier()

  local older = host.activation > v.activation and host.activation ~= v.dead
  local behind = older or host.activation == v.activation
                          and (host.next > v.next or host.serving > v.serving)

  if not behind and host.changed <= v.changed then
    v.mend()
    return
  end

  if older then
    v.begin(host.activation)
    v.restored = 0
  end

  if host.activation == v.activation and v.activation > 0 then
    v.skip()
    v.serving = math.max(v.serving, host.serving)
  end

  if host.changed > v.changed then
    if v.active == 0 then
      v.updated = v.us
    end
    v.changed = host.changed
    v.active, v.set_by, v.api_rate = host.active, host.set_by, host.api_rate
  end

  v.mend()
  v.restored = v.ms
  v.lost = 1
  v.tick(1)
  v.save()
end
