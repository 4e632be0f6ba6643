# Usage: tls_peer.py PORT CERT KEY REDIS_PORT
#
# TLS in front of a Redis that knows none.  Tells of each handshake: the name
# that the client asked for (SNI), and whether it resumed a session.

import socket
import ssl
import sys
import threading

port, cert, key, redis_port = sys.argv[1:]


def tell(*words):
    sys.stdout.write(' '.join(words) + '\n')
    sys.stdout.flush()


def relay(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass

    for end in source, target:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except OSError as error:
        tell('failed', str(error))
        return

    tell('handshake', names.pop(client, '-'),
         'resumed' if client.session_reused else 'new')

    redis = socket.create_connection(('127.0.0.1', int(redis_port)))
    threading.Thread(target=relay, args=(redis, client), daemon=True).start()
    relay(client, redis)


names = {}
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.sni_callback = lambda client, name, _: names.update({client: name or '-'})

listen = socket.create_server(('127.0.0.1', int(port)), backlog=128)

while True:
    plain, _ = listen.accept()
    threading.Thread(target=serve, args=(plain,), daemon=True).start()
