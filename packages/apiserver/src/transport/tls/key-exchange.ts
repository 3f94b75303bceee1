// How keys are agreed on in TLS, on both ends of a connection: by elliptic curves only. A handshake runs on the event loop, and with finite-field
// Diffie-Hellman the other end chooses how long: 130 ms with ffdhe8192, a second with a prime of 10,000 bits of its own (CVE-2002-20001, CVE-2022-40735).

import { createSecureContext } from "node:tls";

const CURVES = "X25519:prime256v1:secp384r1:secp521r1";
/** Safe against quantum computers, as in Go since 1.24. OpenSSL has it since 3.5. */
const HYBRID = `X25519MLKEM768:${CURVES}`;

/** For the option `ecdhCurve`, which in TLS 1.3 lists all groups. */
export const KEY_EXCHANGE_GROUPS = isKnown(HYBRID) ? HYBRID : CURVES;

/**
 * For the option `ciphers`: TLS 1.3, and of TLS 1.2 the suites that Go offers.
 * Source: crypto/tls/cipher_suites.go
 */
export const CIPHER_SUITES = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
].join(":");

function isKnown(ecdhCurve: string): boolean {
  try {
    createSecureContext({ ecdhCurve });
    return true;
  } catch {
    return false;
  }
}
