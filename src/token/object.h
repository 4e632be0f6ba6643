
/*
 * Copyright (C) 2026 the admission module authors
 *
 * The JSON object that a part of a token is.
 *
 * Most are flat: members that are plain ASCII strings or integers, without
 * a space.  Those are read where they are, without an allocation; whatever
 * else there is, and whatever is wrong, is left to jansson.
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
 * Reads an object, all of data, without duplicate members at any depth.
 * Returns NULL, and _free() is to follow, or what was wrong, a constant
 * text.  data has to live as long as the object.
 */
const char *ngx_adm_object_read(ngx_adm_object_t *object, u_char *data,
    size_t len);
void ngx_adm_object_free(ngx_adm_object_t *object);

/*
 * The member of a name, which is null-terminated.  Strings live as long as
 * the object.
 */
void ngx_adm_object_get(ngx_adm_object_t *object, ngx_str_t *name,
    ngx_adm_value_t *value);

/*
 * The member of that name or, if there is none, what a path of names, joined by
 * dots, leads to in objects inside.
 */
void ngx_adm_object_find(ngx_adm_object_t *object, ngx_str_t *path,
    ngx_adm_value_t *value);

/* what json, NULL: nothing, is */
void ngx_adm_object_value(json_t *json, ngx_adm_value_t *value);


#endif /* _NGX_ADM_TOKEN_OBJECT_H_INCLUDED_ */
