
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The JSON object in a part of a token.
 *
 * Most are flat: members that are plain ASCII strings or integers, without a
 * space.  These are read in place, without an allocation.  Anything else, and
 * anything wrong, is left to jansson.
 */


#ifndef _NGX_ADM_TOKEN_OBJECT_H_INCLUDED_
#define _NGX_ADM_TOKEN_OBJECT_H_INCLUDED_


#include <ngx_config.h>
#include <ngx_core.h>

#include <jansson.h>


#define NGX_ADM_OBJECT_FLAT  16      /* members, at most */


typedef enum {
    NGX_ADM_VALUE_NONE = 0,          /* no such member */
    NGX_ADM_VALUE_STRING,
    NGX_ADM_VALUE_INTEGER,
    NGX_ADM_VALUE_REAL,
    NGX_ADM_VALUE_NULL,
    NGX_ADM_VALUE_OTHER } ngx_adm_value_e;


typedef struct {
    ngx_adm_value_e      type;
    ngx_str_t            string;     /* UTF-8 without a null byte */
    int64_t              integer;
    double               real;
    json_t              *json;       /* of another type */
} ngx_adm_value_t;


typedef struct {
    ngx_str_t            name;
    ngx_adm_value_t      value;
} ngx_adm_member_t;


typedef struct {
    json_t              *json;       /* NULL: flat */
    ngx_uint_t           n;
    ngx_adm_member_t     members[NGX_ADM_OBJECT_FLAT];
} ngx_adm_object_t;


/*
 * Reads an object, which has to be all of data, without a duplicate member at
 * any depth.  Returns NULL, and _free() has to follow; or what is wrong, a
 * constant text. data has to live as long as the object.
 */
const char *ngx_adm_object_read(ngx_adm_object_t *object, u_char *data,
    size_t len);
void ngx_adm_object_free(ngx_adm_object_t *object);

/*
 * The member of a name, which is null-terminated.  Strings live as long as the
 * object.
 */
void ngx_adm_object_get(ngx_adm_object_t *object, ngx_str_t *name,
    ngx_adm_value_t *value);

/*
 * The member of a name or, if there is none, what the name leads to as a path:
 * names, joined by dots, of objects inside each other.
 */
void ngx_adm_object_find(ngx_adm_object_t *object, ngx_str_t *path,
    ngx_adm_value_t *value);

/* the value of json; NULL: none */
void ngx_adm_object_value(json_t *json, ngx_adm_value_t *value);


#endif /* _NGX_ADM_TOKEN_OBJECT_H_INCLUDED_ */
