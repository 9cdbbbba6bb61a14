"""Reads a push as a browser and its push service do: http_ece decrypts it, py_vapid verifies who sent it."""
import base64
import json
import sys
import time

import http_ece
import py_vapid
from cryptography.hazmat.primitives.asymmetric import ec


def unpacked(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


push = json.load(sys.stdin)
private = ec.derive_private_key(int.from_bytes(unpacked(push["private"]), "big"), ec.SECP256R1())
plain = http_ece.decrypt(unpacked(push["body"]), private_key=private, auth_secret=unpacked(push["auth"]), version="aes128gcm")
# It knows no space behind the comma, which RFC 8292 writes.
if not py_vapid.Vapid02.verify(push["authorization"].replace(", ", ",")):
    sys.exit("the signature is not that of the key beside it")
claims = json.loads(unpacked(push["authorization"].split("t=")[1].split(".")[1]))
print(json.dumps({"payload": json.loads(plain), "aud": claims["aud"], "sub": claims["sub"], "good_for": claims["exp"] - int(time.time())}))
