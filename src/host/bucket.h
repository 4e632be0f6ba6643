
/*
 * Copyright (C) 2026 the admission module authors
 *
 * How many new things each address may make on this host, in shared memory: a
 * bucket an address, kind and terms, which all workers fill.  It knows no
 * request.
 *
 * The zone's size sets how many buckets there may be.  When all are taken, a
 * new one takes the place of the one that is empty soonest.  So nobody is
 * refused for what others did, and nobody gets rid of a full bucket of his own
 * before he has filled as many others, from as many addresses, as there may
 * be.
 */


#ifndef _NGX_ADM_HOST_BUCKET_H_INCLUDED_
#define _NGX_ADM_HOST_BUCKET_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include "../base/counter.h"
#include "settings.h"
#include "zone.h"


extern ngx_adm_zone_part_t  ngx_adm_buckets_part;


/*
 * Takes one from the bucket of an address.  NGX_OK, or NGX_DECLINED: there is
 * none left, will be one in *wait ms, and nothing was taken. only: declines in
 * any case. *news: this address from now on has over half of the refusals of a
 * minute; told to one caller of the host, once a minute.  Takes the zone's
 * lock.
 */
ngx_int_t ngx_adm_bucket_take(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf, ngx_uint_t only, ngx_msec_t *wait,
    ngx_uint_t *news);

/* takes back what _take() took; takes the zone's lock */
void ngx_adm_bucket_back(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf);

/* whether nothing is left in the bucket now; takes the zone's lock */
ngx_uint_t ngx_adm_bucket_full(ngx_adm_intake_e kind, ngx_str_t *address,
    ngx_adm_intake_conf_t *conf);

/*
 * Whether one address had over half of the refusals, of 100 or more, in this
 * minute or the last; takes the zone's lock.
 */
ngx_uint_t ngx_adm_bucket_alone(ngx_adm_intake_e kind);


#endif /* _NGX_ADM_HOST_BUCKET_H_INCLUDED_ */
