// The entries of the security book: failures that systems with this job have had, and what each asks of us, in a line.

export type BookEntry = {
  readonly number: number;
  readonly asks: string;
  /** What its tests try. */
  readonly tried: string;
  /** It was broken once although tests carried its number: only this file of `test/attacks` counts, or any for "". */
  readonly brokenUntil?: string;
  /** What has no test because there is nothing yet that could fail in this way. */
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
    entry(1, "A key does nothing that its owner may not, and nothing that its scope does not open, on every route that the server has",
      "Random users, keys and requests over every route that the router has, against a second decision written from plain data; each route again over the wire"),
    broken(2, "lineage", "What is made with a key, be it a key, a kubeconfig or a certificate, reaches no further and lives no longer than it, and dies with it",
      "Narrowed keys ask for keys, kubeconfigs, certificates, tokens, Secrets and bindings that open more or live longer, in embedded clusters and in one that another server runs; a thief makes grandchildren, and the key is rotated; discovery of both surfaces is compared with the table of what yields a credential"),
    broken(3, "open-streams", "A watch is allowed as a list is, and judged again while it is open",
      "Rights are taken away in forty ways while every kind of watch is open; what happens afterwards must not be delivered"),
    entry(4, "Other spellings of a request (HEAD, a watch by query, dry runs, collections) are decided like the request itself",
      "Every route is asked by a key with an empty scope; seventeen detours of such requests by HEAD, watch by query, dry run, collection, base path and proxy are, too"),
    entry(5, "Knowing an ID opens nothing: revoking, rotating and looking up ask who asks",
      "IDs of others' keys and certificates are sent to where credentials are revoked; others' values stand in texts and are asked for as one's own; the token of a ServiceAccount comes to the platform and to another cluster"),
    entry(6, "A rotation or renewal belongs to one key, one cluster and one subject, and works for no other",
      "Another's key is rotated and patched with one's own key, nonce and new value"),
    entry(7, "Names, claims and groups are compared exactly: no case, space or Unicode form makes two into one",
      "Keys, groups and subjects are presented in other cases, with spaces, zero-width, Cyrillic and fullwidth characters"),
    entry(8, "A name with a wildcard in it widens nothing; a star counts as the whole value alone",
      "Scopes with a star, a question mark, brackets, bars and percent codes inside names of projects and clusters"),
    without(9, "Whoever mends a flaw looks for its siblings in the same change", "a rule for reviewers; nothing a test could run"),
    broken(10, "lineage", "Labels, annotations and references that a client writes change neither owner nor tenant nor target",
      "Owner, project and cluster labels, annotations and references are written by clients that lack the right, to reach what they name"),
    entry(11, "A name that is used again inherits nothing; references count by uid; no reference makes something of another tenant's be deleted",
      "A thief deletes a key in between; a team names a user before there is one; users, instances and accounts that are made again under an old name are checked beneath the socket"),
    broken(12, "groups", "Nobody makes or resets a key of somebody with more rights",
      "Somebody with all verbs on keys makes, patches, rotates, moves and deletes an administrator's keys, and adds groups to its own"),
  ] },
  { title: "B. Lifetime and revocation", entries: [
    broken(13, "open-streams", "With a user, team or key that is disabled or gone, everything that derives from it is refused",
      "Users, teams, members, keys and parents are locked, deleted, rotated and reported while keys, kubeconfigs and certificates of theirs are in use; keys end in five ways after they made tokens, token Secrets and certificates inside a cluster in nine"),
    broken(14, "lifetime", "What derives from a credential never outlives it, whatever the clock does and however large a number is",
      "Lifetimes that are negative, huge, fractional or no numbers; a child of a key with four seconds left; clocks that jump are checked beneath the socket"),
    broken(15, "open-streams", "Open watches, streams and upgraded connections are cut when their credential ends",
      "Watches over HTTP/1.1, HTTP/2 and WebSocket, logs, exec, attach and port-forward over SPDY, WebSocket and RFC 8441 are open when the credential or right ends"),
    entry(16, "Revocations survive restarts; while they are being loaded, everything is refused",
      "A server is stopped and started again after keys were disabled, deleted, rotated, narrowed and revoked, a user was locked and a certificate was revoked; what comes while it loads is not tried"),
    entry(17, "A locked user is locked at every door",
      "The key of a locked user comes to ten doors: both paths of the management API, discovery, OpenAPI, selves, reviews, kubeconfigs and the proxy; a TokenReview asks about it"),
    entry(18, "What may be used once is used once, however many try at the same moment",
      "One nonce is sent twenty times at the same moment"),
  ] },
  { title: "C. Edges of authentication", entries: [
    entry(19, "Empty, malformed, doubled and oversized credentials get one and the same refusal",
      "Empty, malformed, doubled and oversized credentials over the wire; the answers are compared"),
    entry(20, "Signed tokens: no algorithm but the expected one, audience and issuer checked, keys rotated, no requests to addresses in a token",
      "Fifty forged tokens at the exchange, issuers whose documents lead to other hosts, this machine, plain HTTP and redirects, keys that are taken back; tokens with alg none and HMAC of the public key, other kid, jku and crit, changed claims, cut and doubled signatures, sent to the cluster that issued the true one"),
    entry(21, "Certificates are judged by their bytes: authority, usage and serial, never by a printed subject",
      "A self-made certificate with the administrator's subject, and one that a good client certificate signed, in a real handshake; odd subjects are checked beneath the socket"),
    entry(22, "A certificate of another authority or for another use names nobody",
      "A self-made certificate that says it is the administrator's; a good one at another cluster and at the platform"),
    entry(23, "Exchanging a token asks the same policy as a login, and a login of a device shows what to compare",
      "Tokens of a trusted issuer for other audiences, repositories, branches and times, of another issuer under its name, and those that were used before; rules that projects write to draw others' jobs to themselves; writers who give more than they have; the tester is asked the same. There are no logins of devices yet"),
    entry(24, "Secrets come from the system's generator; no two are alike",
      "Sixty keys made at the same moment; statistics of characters are checked beneath the socket"),
    broken(25, "key-values", "Secrets are compared in constant time, and a wrong one costs what a right one does",
      "Values of others, of keys that are gone and of nobody are set, asked about and reported over the wire, until guesses are refused, also at two servers on one etcd; hashes and reads of the store are counted beneath the socket, no time is measured"),
    entry(26, "Limits count the peer's address, not a header, and lock nobody out but who exceeds them",
      "Wrong keys in a row from one address with forged X-Forwarded-For, while a good key comes from the same one; old values that lock a key"),
  ] },
  { title: "D. Proxy and headers", entries: [
    entry(27, "A client cannot name headers of ours as hop-by-hop to have them dropped",
      "Connection lists that name our identity headers, Authorization and forwarding headers, against a target that writes down what it gets"),
    entry(28, "Identity headers from outside are dropped in every spelling",
      "Impersonation headers in every case, with underscores, doubled and percent-coded, against a target that writes down what it gets"),
    broken(29, "groups", "Nobody becomes a part of the system through a key, a certificate, a group or impersonation",
      "system:masters and its like as groups of keys, users and certificates, by impersonation, and through certificates of the cluster itself"),
    entry(30, "A failed upgrade leaves no connection behind; redirects are not followed",
      "Targets that refuse or redirect an upgrade; redirects to other places"),
    broken(31, "addresses", "Only what an administrator has connected is dialled, never an address from a request",
      "External virtual clusters at every special-purpose network of IANA, in the forms in which IPv6 carries IPv4, and at this machine by every address and name of it, and a redirect, while a listener counts who comes; names that resolve elsewhere are checked beneath the socket"),
    entry(32, "A path that two programs could read in two ways is refused",
      "Dots, encoded dots and slashes, double slashes, semicolons, backslashes and NULs in paths, at the platform and behind the proxy"),
    entry(33, "Decisions look at the parsed path alone",
      "A request through the proxy with two readings of its query, against a target that writes down what it gets; the path is checked beneath the socket"),
    entry(34, "One request on the wire is one request behind the proxy",
      "Two lengths, length and chunks, folded headers, odd chunks, to the front and through to a target"),
    entry(35, "The caller's own credential never reaches what is behind the proxy",
      "The caller's key in the header, the query and the subprotocol, against a target that writes down what it gets"),
    entry(36, "Clients verify the server; nothing falls back to not doing so",
      "An impostor answers at the address of a kubeconfig; kubectl must send it nothing"),
    entry(37, "WebSockets: origins are checked, a token among the subprotocols is neither logged nor passed on",
      "WebSockets from pages of other origins; a token among the subprotocols, looked for in what the target gets, and not in the log"),
  ] },
  { title: "E. Leaks", entries: [
    broken(38, "redaction", "No secret is in logs, audit events, metrics, errors or files",
      "Keys that the server made, that the client chose and that somebody else chose, in forty places of requests on nineteen routes; then every one of them, and every secret of another run, is looked for in answers, log, audit log, metrics and store"),
    entry(39, "A refusal does not repeat what was sent",
      "Faulty bodies with a secret in them; keys in forty places of requests on nineteen routes, looked for in the answers"),
    entry(40, "A key's value comes back through no read, no dry run, no apply and no annotation",
      "A key is read in every form, patched, copied by JSON patch, applied, explained and deleted; the value is looked for in each answer"),
    entry(41, "The store holds no secret in clear",
      "Every secret of a run is looked for in the files of the store, while it runs and after it"),
    broken(42, "key-values", "A refusal does not tell whether something exists",
      "Every route that names an object, about one that is there and one that is not, by keys without rights; values of others' keys, tried as one's own: status and body are compared, time is not"),
    entry(43, "Backups hold and log no secret in clear",
      "Values of keys, the server's private key and the passphrase are looked for in a backup, sealed and opened; what it logs is not looked at"),
  ] },
  { title: "F. Denial of service", entries: [
    entry(44, "YAML aliases, depth and size are bounded before anything is built",
      "Documents with aliases, depth and size beyond the limits"),
    entry(45, "JSON patches are bounded in operations and in what they grow to",
      "Patches with more operations than allowed, and copies that double"),
    broken(46, "linear-work", "JSON is bounded in members and nesting; crafted names cost no more than others",
      "Bodies of a million items, deep nesting, very many members and long texts in every field, and names that fall together in a hash table; one body of each kind that is as dear as it can be, whose longest turn of the event loop is measured, also against what was written before: patterns, lists of values, policies that loop, quotas, Services, aggregated roles, and numbers of many digits"),
    entry(47, "Names such as __proto__ are names like any other",
      "__proto__, constructor and their like as names of headers and queries"),
    broken(48, "denial-of-service", "Frames of HTTP/2 that cost little to send cost little to take",
      "Rapid reset by client and by server, CONTINUATION, PING, SETTINGS, WINDOW_UPDATE, PRIORITY and empty DATA without an end, by who reads and who does not; header lists that unpack to 47 MB; lists taken a byte at a time; 34 busy watches beside ordinary requests; sessions that are stopped or held, of which nothing more is read; others read, connect, revoke and write meanwhile, and none of them is refused"),
    broken(49, "denial-of-service", "TLS handshakes are bounded, and odd certificates harm nothing",
      "Handshakes that stop, that come a byte at a time and that never begin, from one address and from 250, and whole ones without a pause, while others connect; odd client certificates"),
    broken(50, "denial-of-service", "Bodies, headers, waiting and connections are bounded, also for who has not said who they are",
      "Bodies and heads that trickle in over HTTP/1.1 and HTTP/2, idle connections, unknown tokens, leak reports, and floods by one key and by one user with forty, while others are served; heads of nearly a mebibyte, of parameters, segments and items; requests of strangers from thirty addresses before those of a known client; names that fill metrics"),
    broken(51, "linear-work", "Expressions of users are run within a budget",
      "Patterns and rules that look at everything for everything, in definitions, written into a virtual cluster over the wire; the kernel counts the time of the server's thread"),
    entry(52, "Nobody cancels what somebody else has begun",
      "Strangers begin and take over a change of the key ring, and end the grace period of a rotation"),
    entry(53, "A request that fails, or is a dry run, leaves nothing behind",
      "Invalid and dry-run requests for keys, rotations, kubeconfigs, instances and users; objects are counted before and after"),
    entry(54, "An owner has a bounded number of keys, and those that are over go",
      "Three times as many keys as allowed are asked for at the same moment"),
  ] },
  { title: "G. Cryptography and certificates", entries: [
    entry(55, "Of a certificate request only the key and the approved names are taken, and it must prove that it has the key",
      "Requests for names and groups of the system, and with weak keys, are approved by an administrator of the cluster"),
    entry(56, "Odd lifetimes end within the authority's own, and the answer says so",
      "Lifetimes below, at and far beyond the limits; the end in the certificate is compared with the one that is said"),
    entry(57, "Kubeconfigs are data: no name in them becomes YAML, a command or another member",
      "Names with quotes, newlines, tags, anchors and exec stanzas; the file is parsed, and has one cluster, one context, one user and no other member"),
  ] },
];
