    -- Whatever is still waited for may be anybody's.  So it is waited for only as long as
    -- PostgreSQL needs to interrupt an autovacuum, or as long as the caller says.
    PERFORM set_config('lock_timeout', extract(epoch FROM least(interval '1 s' + current_setting('deadlock_timeout')::interval,
                                                                interval '2147483647 ms',
                                                                nullif(lock_timeout, '0')::interval))::numeric || 's', true);
