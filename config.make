# The Redis scripts become a header, made when a script changes, or the list
# of them, which is in the makefile.  The names of their arguments, and of the
# fields of their answers, become another one, for all sources;
# a name that none of these has stops the build.  In a dynamic and in a static
# build objects have the same names.

ngx_admission_lua_h=$NGX_OBJS/ngx_http_admission_lua.h
ngx_admission_names_h=$NGX_OBJS/ngx_http_admission_names.h
ngx_admission_names_ok=$NGX_OBJS/ngx_adm_names.ok

ngx_admission_embed=$ngx_addon_dir/lua/embed.sh
ngx_admission_lua=`LC_ALL=C ls $ngx_addon_dir/lua/*.lua 2>/dev/null`
ngx_admission_lua=`echo $ngx_admission_lua`

ngx_admission_users=`grep -l ngx_http_admission_names.h $ngx_admission_srcs /dev/null`
ngx_admission_users=`echo $ngx_admission_users`
ngx_admission_objs=
ngx_admission_script_o=

for ngx_src in $ngx_admission_srcs
do
    ngx_obj=`dirname $ngx_src`
    ngx_obj=$NGX_OBJS/addon/`basename $ngx_obj`/`basename $ngx_src .c`.o

    # any of them may come to name an argument, without another ./configure

    ngx_admission_objs="$ngx_admission_objs $ngx_obj"

    if grep ngx_http_admission_lua.h $ngx_src > /dev/null; then
        ngx_admission_script_o="$ngx_admission_script_o $ngx_obj"
    fi
done

cat << END                                                    >> $NGX_MAKEFILE

$ngx_admission_script_o:	$ngx_admission_lua_h $ngx_admission_names_ok

$ngx_admission_objs:	$ngx_admission_names_h

$ngx_admission_lua_h:	$NGX_MAKEFILE $ngx_admission_embed $ngx_addon_dir/lua/embed.awk $ngx_admission_lua
	sh $ngx_admission_embed $ngx_admission_lua > $ngx_admission_lua_h.tmp
	mv $ngx_admission_lua_h.tmp $ngx_admission_lua_h

$ngx_admission_names_h:	$NGX_MAKEFILE $ngx_admission_embed $ngx_addon_dir/lua/embed.awk $ngx_admission_lua
	sh $ngx_admission_embed -n $ngx_admission_lua > $ngx_admission_names_h.tmp
	mv $ngx_admission_names_h.tmp $ngx_admission_names_h

$ngx_admission_names_ok:	$ngx_admission_names_h $ngx_admission_users
	sh $ngx_admission_embed -c $ngx_admission_names_h $ngx_admission_users
	touch $ngx_admission_names_ok

END

# The pages that people wait on, likewise.

ngx_admission_pages_h=$NGX_OBJS/ngx_http_admission_pages.h
ngx_admission_pages=`LC_ALL=C ls $ngx_addon_dir/pages/*`
ngx_admission_pages=`echo $ngx_admission_pages`

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/addon/page/builtin.o:	$ngx_admission_pages_h

$ngx_admission_pages_h:	$NGX_MAKEFILE $ngx_admission_pages
	sh $ngx_addon_dir/pages/embed.sh $ngx_addon_dir/pages/*.html > $ngx_admission_pages_h.tmp
	mv $ngx_admission_pages_h.tmp $ngx_admission_pages_h

END
