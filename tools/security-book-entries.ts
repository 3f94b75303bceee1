// The entries of the security book: failures of similar systems, and the requirement that follows, in a line.

export type BookEntry = {
  readonly number: number;
  readonly asks: string;
  /** Attempts made by its tests. */
  readonly tried: string;
  /** It failed once although tests had its number: only this file of `test/attacks` counts, or any for "". */
  readonly brokenUntil?: string;
  /** The reason why an entry has no test: nothing can fail in this way yet. */
  readonly noSurface?: string;
};

export type BookChapter = { readonly title: string; readonly entries: readonly BookEntry[] };

const entry = (number: number, asks: string, tried: string): BookEntry => ({ number, asks, tried });
const broken = (number: number, brokenUntil: string, asks: string, tried: string): BookEntry => ({
  ...entry(number, asks, tried),
  brokenUntil,
});
const without = (number: number, asks: string, noSurface: string): BookEntry => ({
  ...entry(number, asks, ""),
  noSurface,
});

// biome-ignore format: a table
export const SECURITY_BOOK: readonly BookChapter[] = [
  { title: "A. Scope and authorization", entries: [
    entry(1, "A key never has more permissions than its owner, or more than its scope, on any route of the server",
      "Random users, keys and requests on every route, compared with an independent decision; each route again over the network"),
    broken(2, "lineage", "Keys, kubeconfigs and certificates that are created with a key have no more permissions and no later expiration than it, and become invalid with it",
      "Limited keys request keys, kubeconfigs, certificates, tokens, Secrets and bindings with more permissions or later expiration, in embedded and external clusters; a thief creates descendants, and the key is rotated; discovery of both surfaces is compared with the table of resources that return credentials"),
    broken(3, "open-streams", "A watch is authorized like a list, and again while it is open",
      "Permissions are revoked in forty ways while every kind of watch is open; later events must not be delivered"),
    entry(4, "Variants of a request (HEAD, watch by query, dry run, collection) are authorized like the request itself",
      "A key with an empty scope sends a request to every route, and seventeen variants with HEAD, watch by query, dry run, collection, base path and proxy"),
    entry(5, "Knowing an ID gives no access: revoking, rotating and looking up credentials are authorized",
      "Revocation with IDs of other users' keys and certificates; values of other users in texts and lookups; a ServiceAccount token at the platform and at another cluster"),
    entry(6, "A rotation or renewal applies to one key, one cluster and one subject only",
      "A user rotates and patches another user's key with their own key, nonce and value"),
    entry(7, "Names, claims and groups are compared exactly: case, spaces and Unicode forms matter",
      "Keys, groups and subjects in other case, with spaces, zero-width, Cyrillic and fullwidth characters"),
    entry(8, "A wildcard inside a name matches nothing; a star counts only as the whole value",
      "Scopes with a star, a question mark, brackets, bars and percent codes inside names of projects and clusters"),
    without(9, "The fix of a vulnerability covers similar code", "a rule for reviews, which cannot be tested"),
    broken(10, "lineage", "Labels, annotations and references of clients never change owner, tenant or target",
      "Clients without permission write labels, annotations and references to owners, projects and clusters"),
    entry(11, "A reused name inherits nothing; references use UIDs; no reference can delete objects of another tenant",
      "A thief deletes a key in between; a team lists a user before it exists; unit tests for users, instances and accounts that are created again with an old name"),
    broken(12, "groups", "You cannot create or reset a key of a user with more permissions",
      "A user with all verbs on keys creates, patches, rotates, moves and deletes an administrator's keys, adds groups to their own key, and adds to an administrator of a project an identity to sign in with"),
  ] },
  { title: "B. Lifetime and revocation", entries: [
    broken(13, "open-streams", "Everything that derives from a disabled or deleted user, team or key is refused",
      "Users, teams, members, keys and parents are locked, deleted, rotated and reported while their keys, kubeconfigs and certificates are in use; keys become invalid in five ways after creating tokens, token Secrets and certificates inside a cluster in nine ways"),
    broken(14, "lifetime", "Derived credentials never outlive their parent, regardless of the clock and of large numbers",
      "Negative, huge, fractional and invalid TTLs; a child of a key with four seconds left; children, a session and new values of other keys by a key of ten minutes; unit tests with jumping clocks"),
    broken(15, "open-streams", "Open watches, streams and upgraded connections are closed when their credential becomes invalid",
      "Watches over HTTP/1.1, HTTP/2 and WebSocket, logs, exec, attach and port-forward over SPDY, WebSocket and RFC 8441 are open when the credential or permission is revoked"),
    entry(16, "Revocations survive restarts; while they are loaded, all credentials are refused",
      "A server restarts after keys were disabled, deleted, rotated, limited and revoked, a user was locked and a certificate was revoked; requests during the loading are not tested"),
    entry(17, "A locked user is refused everywhere",
      "The key of a locked user at ten endpoints: both paths of the management API, discovery, OpenAPI, selves, reviews, kubeconfigs and the proxy; a TokenReview of it"),
    entry(18, "Single-use values are used once, even by concurrent requests",
      "Twenty concurrent requests with one nonce"),
  ] },
  { title: "C. Edges of authentication", entries: [
    entry(19, "Empty, malformed, duplicate and oversized credentials get the same error",
      "Empty, malformed, duplicate and oversized credentials; the responses are compared"),
    entry(20, "Signed tokens: only the expected algorithms, audience and issuer checked, keys rotated, no requests to addresses in a token",
      "Fifty forged tokens at the exchange; issuers whose documents refer to other hosts, the server itself, plain HTTP and redirects; withdrawn keys; tokens with alg none, HMAC of the public key, other kid, jku and crit, changed claims, truncated and duplicate signatures at the issuing cluster"),
    entry(21, "Certificates are verified by CA, usage and serial number, never by a printed subject",
      "A self-signed certificate with the administrator's subject, and one signed by a valid client certificate, in a real handshake; unit tests of unusual subjects"),
    entry(22, "A certificate of another CA or for another usage authenticates no user",
      "A self-signed certificate with the administrator's subject; a valid one at another cluster and at the platform"),
    entry(23, "Token exchange and login use the same policy, and a device login shows a code to compare",
      "Tokens of a trusted issuer for other audiences, repositories, branches and times, of another issuer under its name, and used ones; rules of projects that target other tenants' jobs; writers who grant more than they have; the same with the tester"),
    entry(24, "Secrets come from the system's random generator and are unique",
      "Sixty keys created at the same moment; unit tests of character statistics"),
    broken(25, "key-values", "Secrets are compared in constant time, and wrong ones cost the same as right ones",
      "Other users', deleted and unknown values are set, looked up and reported until guesses are refused, also on two servers with one etcd; unit tests count hashes and store reads; time is not measured"),
    entry(26, "Limits count the peer's address, not a header, and affect only clients above them",
      "Many wrong keys from one address with forged X-Forwarded-For, while a valid key is used from the same address; old values that lock a key"),
  ] },
  { title: "D. Proxy and headers", entries: [
    entry(27, "A client cannot have our headers dropped by listing them as hop-by-hop",
      "Connection headers that list our identity headers, Authorization and forwarding headers, with a target that records its requests"),
    entry(28, "Identity headers from outside are dropped in every spelling",
      "Impersonation headers in any case, with underscores, duplicate and percent-encoded, with a target that records its requests"),
    broken(29, "groups", "Keys, certificates, groups and impersonation never give a system identity",
      "system:masters and similar groups of keys, users and certificates, by impersonation, and through certificates of the cluster itself"),
    entry(30, "A failed upgrade leaves no connection behind; redirects are not followed",
      "Targets that refuse or redirect an upgrade; redirects to other places"),
    broken(31, "addresses", "The proxy connects only to configured clusters, never to an address from a request",
      "External virtual clusters at every special-purpose network of IANA, as IPv4 in IPv6, and at all addresses and names of the server itself, and a redirect, while a listener counts connections; unit tests of names that resolve to such addresses"),
    entry(32, "Ambiguous paths are refused",
      "Dots, encoded dots and slashes, double slashes, semicolons, backslashes and NULs in paths, at the platform and behind the proxy"),
    entry(33, "Authorization uses only the parsed path",
      "A request through the proxy with an ambiguous query, with a target that records its requests; unit tests of the path"),
    entry(34, "One request on the wire is one request behind the proxy",
      "Duplicate lengths, length with chunks, folded headers and invalid chunks, at the server and through the proxy"),
    entry(35, "The caller's credential never reaches clusters behind the proxy",
      "The caller's key in the header, the query and the subprotocol, with a target that records its requests"),
    entry(36, "Clients always verify the server",
      "An impostor at the address of a kubeconfig; kubectl must not send it anything"),
    entry(37, "WebSockets: origins are checked, a token in the subprotocols is neither logged nor forwarded",
      "WebSockets from pages of other origins; a token in the subprotocols, searched in requests to the target but not in the log"),
  ] },
  { title: "E. Leaks", entries: [
    broken(38, "redaction", "No secrets in logs, audit events, metrics, errors or files",
      "Generated keys, chosen keys and another user's chosen keys in forty places of requests on nineteen routes; all of them, and all secrets of another run, are searched in responses, log, audit log, metrics and store"),
    entry(39, "Errors do not repeat secrets from the request",
      "Invalid bodies with a secret; keys in forty places of requests on nineteen routes, searched in the responses"),
    entry(40, "No read, dry run, apply or annotation returns the value of a key",
      "A key is read in every form, patched, copied by JSON patch, applied, explained and deleted; the value is searched in each response"),
    entry(41, "The store contains no secrets in plain text",
      "All secrets of a run are searched in the files of the store, during and after the run"),
    broken(42, "key-values", "Errors do not reveal whether an object exists",
      "Every route with an object name, for an existing and a missing object, with keys without permissions; values of other users' keys: status and body are compared, not the time"),
    entry(43, "Backups contain and log no secrets in plain text",
      "Values of keys, the server's private key and the passphrase are searched in a backup, encrypted and decrypted; its log is not searched"),
  ] },
  { title: "F. Denial of service", entries: [
    entry(44, "YAML aliases, depth and size are limited before parsing",
      "Documents with aliases, depth and size beyond the limits"),
    entry(45, "JSON patches are limited in operations and in the size of the result",
      "Patches with more operations than allowed, and copies that double"),
    broken(46, "linear-work", "JSON is limited in members and nesting; crafted names cost no more than others",
      "Bodies of a million items, deep nesting, very many members, long strings in every field, and names with hash collisions; the most expensive body of each kind, with the longest turn of the event loop measured, also against what was written before: patterns, lists of values, policies that loop, quotas, Services, aggregated roles, and numbers of many digits"),
    entry(47, "Names such as __proto__ have no special meaning",
      "__proto__, constructor and similar as names of headers and queries"),
    broken(48, "denial-of-service", "HTTP/2 frames that are cheap to send are cheap to process",
      "Rapid reset by client and by server, CONTINUATION, PING, SETTINGS, WINDOW_UPDATE, PRIORITY and empty DATA without an end, by who reads and who does not; header lists that unpack to 47 MB; lists taken a byte at a time; 34 busy watches beside ordinary requests; sessions that are stopped or held, of which nothing more is read; a frame that is too long, and a client that falls silent; others read, connect, revoke and write meanwhile, and none of them is refused"),
    broken(49, "denial-of-service", "TLS handshakes are limited, and unusual certificates do no harm",
      "Handshakes that stop, are sent byte by byte or never start, from one address and from 250, and complete ones without pause, while other clients connect; unusual client certificates"),
    broken(50, "denial-of-service", "Bodies, headers, queues and connections are limited, also for unauthenticated clients",
      "Bodies and heads that trickle in over HTTP/1.1 and HTTP/2, idle connections, unknown tokens, leak reports, and floods by one key and by one user with forty, while others are served; heads of nearly a mebibyte, of parameters, segments and items; requests of strangers from thirty addresses before those of a known client; names that fill metrics"),
    broken(51, "linear-work", "Expressions of users have a cost budget",
      "Quadratic patterns and rules in definitions of a virtual cluster; the kernel counts the CPU time of the server's thread"),
    entry(52, "You cannot cancel operations of other users",
      "Unauthorized users start and take over a rotation of the key ring, and end the grace period of a rotation"),
    entry(53, "Failed requests and dry runs leave nothing behind",
      "Invalid and dry-run requests for keys, rotations, kubeconfigs, instances and users; objects are counted before and after"),
    entry(54, "The number of keys per owner is limited, and expired keys are deleted",
      "Concurrent requests for three times as many keys as allowed"),
  ] },
  { title: "G. Cryptography and certificates", entries: [
    entry(55, "Of a certificate request only the public key and the approved names are used, and it must prove possession of the key",
      "An administrator of the cluster approves requests with system names and groups, with weak keys, and for 68 years"),
    entry(56, "Certificates never outlive their CA, and the response has the actual expiration",
      "Validity below, at and far beyond the limits; the expiration in the certificate is compared with the one in the response"),
    entry(57, "Names in kubeconfigs cannot inject YAML, commands or members",
      "Names with quotes, newlines, tags, anchors and exec stanzas; the file is parsed, and has one cluster, one context, one user and no other member"),
  ] },
];
