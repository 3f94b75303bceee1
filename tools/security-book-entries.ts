// The entries of the security book: failures that systems with this job have had, and what each asks of us, in a line.

export type BookEntry = {
  readonly number: number;
  readonly asks: string;
  /** What has no test because there is nothing yet that could fail in this way. */
  readonly noSurface?: string;
};

export type BookChapter = { readonly title: string; readonly entries: readonly BookEntry[] };

const entry = (number: number, asks: string, noSurface?: string): BookEntry =>
  noSurface === undefined ? { number, asks } : { number, asks, noSurface };

// biome-ignore format: a table
export const SECURITY_BOOK: readonly BookChapter[] = [
  { title: "A. Scope and authorization", entries: [
    entry(1, "A key does nothing that its owner may not, and nothing that its scope does not open, on every route that the server has"),
    entry(2, "What is made with a key, be it a key, a kube config or a certificate, reaches no further and lives no longer than it, and dies with it"),
    entry(3, "A watch is allowed as a list is, and judged again while it is open"),
    entry(4, "Other spellings of a request (HEAD, a watch by query, dry runs, collections) are decided like the request itself"),
    entry(5, "Knowing an ID opens nothing: revoking, rotating and looking up ask who asks"),
    entry(6, "A rotation or renewal belongs to one key, one cluster and one subject, and works for no other"),
    entry(7, "Names, claims and groups are compared exactly: no case, space or Unicode form makes two into one"),
    entry(8, "A name with a wildcard in it widens nothing; a star counts as the whole value alone"),
    entry(9, "Whoever mends a flaw looks for its siblings in the same change", "a rule for reviewers; nothing a test could run"),
    entry(10, "Labels, annotations and references that a client writes change neither owner nor tenant nor target"),
    entry(11, "A name that is used again inherits nothing; references count by uid; no reference makes something of another tenant's be deleted"),
    entry(12, "Nobody makes or resets a key of somebody with more rights"),
  ] },
  { title: "B. Lifetime and revocation", entries: [
    entry(13, "With a user, team or key that is disabled or gone, everything that derives from it is refused"),
    entry(14, "What derives from a credential never outlives it, whatever the clock does and however large a number is"),
    entry(15, "Open watches, streams and upgraded connections are cut when their credential ends"),
    entry(16, "Revocations survive restarts; while they are being loaded, everything is refused"),
    entry(17, "A locked user is locked at every door"),
    entry(18, "What may be used once is used once, however many try at the same moment"),
  ] },
  { title: "C. Edges of authentication", entries: [
    entry(19, "Empty, malformed, doubled and oversized credentials get one and the same refusal"),
    entry(20, "Signed tokens: no algorithm but the expected one, audience and issuer checked, keys rotated, no requests to addresses in a token", "logins by OpenID Connect are not there yet"),
    entry(21, "Certificates are judged by their bytes: authority, usage and serial, never by a printed subject"),
    entry(22, "A certificate of another authority or for another use names nobody"),
    entry(23, "Exchanging a token asks the same policy as a login, and a login of a device shows what to compare", "there are no logins and no token exchange yet"),
    entry(24, "Secrets come from the system's generator; no two are alike"),
    entry(25, "Secrets are compared in constant time, and a wrong one costs what a right one does"),
    entry(26, "Limits count the peer's address, not a header, and lock nobody out but who exceeds them"),
  ] },
  { title: "D. Proxy and headers", entries: [
    entry(27, "A client cannot name headers of ours as hop-by-hop to have them dropped"),
    entry(28, "Identity headers from outside are dropped in every spelling"),
    entry(29, "Nobody becomes a part of the system through a key, a certificate, a group or impersonation"),
    entry(30, "A failed upgrade leaves no connection behind; redirects are not followed"),
    entry(31, "Only what an administrator has connected is dialled, never an address from a request"),
    entry(32, "A path that two programs could read in two ways is refused"),
    entry(33, "Decisions look at the parsed path alone"),
    entry(34, "One request on the wire is one request behind the proxy"),
    entry(35, "The caller's own credential never reaches what is behind the proxy"),
    entry(36, "Clients verify the server; nothing falls back to not doing so"),
    entry(37, "WebSockets: origins are checked, a token among the subprotocols is neither logged nor passed on"),
  ] },
  { title: "E. Leaks", entries: [
    entry(38, "No secret is in logs, audit events, metrics, errors or files"),
    entry(39, "A refusal does not repeat what was sent"),
    entry(40, "A key's value comes back through no read, no dry run, no apply and no annotation"),
    entry(41, "The store holds no secret in clear"),
    entry(42, "A refusal does not tell whether something exists"),
    entry(43, "Backups hold and log no secret in clear"),
  ] },
  { title: "F. Denial of service", entries: [
    entry(44, "YAML aliases, depth and size are bounded before anything is built"),
    entry(45, "JSON patches are bounded in operations and in what they grow to"),
    entry(46, "JSON is bounded in members and nesting; crafted names cost no more than others"),
    entry(47, "Names such as __proto__ are names like any other"),
    entry(48, "Frames of HTTP/2 that cost little to send cost little to take"),
    entry(49, "TLS handshakes are bounded, and odd certificates harm nothing"),
    entry(50, "Bodies, headers, waiting and connections are bounded, also for who has not said who they are"),
    entry(51, "Expressions of users are run within a budget"),
    entry(52, "Nobody cancels what somebody else has begun"),
    entry(53, "A request that fails, or is a dry run, leaves nothing behind"),
    entry(54, "An owner has a bounded number of keys, and those that are over go"),
  ] },
  { title: "G. Cryptography and certificates", entries: [
    entry(55, "Of a certificate request only the key and the approved names are taken, and it must prove that it has the key"),
    entry(56, "Odd lifetimes end within the authority's own, and the answer says so"),
    entry(57, "Kube configs are data: no name in them becomes YAML, a command or another member"),
  ] },
];
