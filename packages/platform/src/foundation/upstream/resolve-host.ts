// Resolves the names of targets. `dns.lookup` takes two of the four threads of libuv's pool, for ten seconds and more where the servers of a name do not
// answer, and all other lookups wait: with a few names of its own, one tenant would keep all others from connecting. c-ares needs no threads.

import { type LookupAddress, lookup, Resolver, type ResolverOptions } from "node:dns";
import { readFileSync } from "node:fs";
import { type SearchList, searchListOf } from "./search-list.ts";

/** As `dns.lookup` with `all: true`. */
export type ResolveHost = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type HostResolverOptions = {
  /** DNS servers. Default: those of resolv.conf. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly searchFile?: string;
  readonly system?: ResolveHost;
  readonly attempts?: ResolverOptions;
  /** Monotonic milliseconds. */
  readonly elapsed?: () => number;
};

/** Six seconds together: a connection gives up after ten. */
const ATTEMPTS = { timeout: 2_000, tries: 2 };
/** A name that DNS does not have, that has no address of a family, or that cannot be a name in DNS. */
const ABSENT: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);
/** There is no DNS server here, as on a machine without a network. */
const NO_SERVER: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTINITIALIZED", "EBADSTR"]);

/** One serves the whole process, which has one pool of threads. */
export function createHostResolver(options: HostResolverOptions = {}): ResolveHost {
  const {
    servers,
    hostsFile = "/etc/hosts",
    searchFile = "/etc/resolv.conf",
    elapsed = () => performance.now(),
  } = options;
  const askSystem = createSystemQueue(options.system ?? lookup, elapsed);

  async function resolve(hostname: string): Promise<LookupAddress[]> {
    const name = hostname.toLowerCase();
    const listed = addressesIn(textOf(hostsFile), name);
    if (listed.length > 0) return listed;
    // Anew each time, so that a changed resolv.conf counts.
    const resolver = new Resolver(options.attempts ?? ATTEMPTS);
    if (servers !== undefined) resolver.setServers(servers);
    for (const candidate of candidatesOf(name, searchListOf(textOf(searchFile)))) {
      const found = await addressesOf(resolver, candidate);
      if (found.length > 0) return found;
    }
    return await askSystem(hostname);
  }

  return (hostname, _options, callback) => {
    resolve(hostname).then(
      (found) => callback(null, found),
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/** Empty where DNS knows none. Rejects with the code EAI_AGAIN where it does not say. */
async function addressesOf(resolver: Resolver, name: string): Promise<LookupAddress[]> {
  const answers = await Promise.all([answerOf(resolver, name, 4), answerOf(resolver, name, 6)]);
  const found = answers.flatMap(({ addresses }) => addresses);
  if (found.length > 0) return found;
  const codes = answers.map(({ code }) => code);
  if (codes.every((code) => ABSENT.has(code) || NO_SERVER.has(code))) return [];
  throw lookupError(
    name,
    codes.find((code) => !ABSENT.has(code)),
  );
}

type Answer = { readonly addresses: readonly LookupAddress[]; readonly code: string };

const answerOf = (resolver: Resolver, name: string, family: 4 | 6): Promise<Answer> =>
  new Promise((resolve) => {
    const done = (error: NodeJS.ErrnoException | null, addresses: readonly string[] = []): void =>
      resolve({ addresses: addresses.map((address) => ({ address, family })), code: error?.code ?? "ENODATA" });
    if (family === 4) resolver.resolve4(name, done);
    else resolver.resolve6(name, done);
  });

/** The error of `dns.lookup` for a name that cannot be resolved now. */
const lookupError = (name: string, why = "no answer"): NodeJS.ErrnoException =>
  Object.assign(new Error(`lookup ${name}: ${why}`), { code: "EAI_AGAIN", syscall: "lookup", hostname: name });

/** In the order of glibc: a name with enough dots first as it is. Source: resolv.conf(5) */
function candidatesOf(name: string, { domains, dots }: SearchList): readonly string[] {
  if (name.endsWith(".")) return [name];
  const searched = domains.map((domain) => `${name}.${domain}`);
  return name.split(".").length - 1 >= dots ? [name, ...searched] : [...searched, name];
}

/** The addresses of a name in a file in the form of hosts(5). */
function addressesIn(text: string, name: string): LookupAddress[] {
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return names.includes(name) ? [{ address, family: address.includes(":") ? 6 : 4 }] : [];
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Asks for names that only the system knows, such as those of mDNS or of a VPN. */
type AskSystem = (hostname: string) => Promise<LookupAddress[]>;

type Waiting = {
  readonly hostname: string;
  readonly since: number;
  readonly resolve: (found: LookupAddress[]) => void;
  readonly reject: (error: NodeJS.ErrnoException) => void;
};

/** A lookup that takes longer is a slow one. */
const SLOW_MS = 1_000;
/** For this long no other name of its domain is looked up. */
const SLOW_DOMAIN_MS = 60_000;
/** The connection has given up by then. */
const MAX_WAIT_MS = 10_000;

/** One at a time, which leaves threads of the pool to everything else. */
function createSystemQueue(system: ResolveHost, elapsed: () => number): AskSystem {
  const queue: Waiting[] = [];
  /** When each domain may be asked again. */
  const slow = new Map<string, number>();
  let isAsking = false;

  const ask = ({ hostname, resolve, reject }: Waiting): void => {
    isAsking = true;
    const startedAt = elapsed();
    system(hostname, { all: true }, (error, found) => {
      isAsking = false;
      if (elapsed() - startedAt >= SLOW_MS) slow.set(domainOf(hostname), elapsed() + SLOW_DOMAIN_MS);
      if (error === null) resolve(found);
      else reject(error);
      next();
    });
  };
  const next = (): void => {
    for (const [domain, until] of slow) if (until <= elapsed()) slow.delete(domain);
    while (!isAsking) {
      const waiting = queue.shift();
      if (waiting === undefined) return;
      const isLate = elapsed() - waiting.since >= MAX_WAIT_MS;
      if (isLate || slow.has(domainOf(waiting.hostname))) waiting.reject(lookupError(waiting.hostname));
      else ask(waiting);
    }
  };
  return (hostname) =>
    new Promise((resolve, reject) => {
      queue.push({ hostname, since: elapsed(), resolve, reject });
      next();
    });
}

/** The servers of one name of `example.com` answer for the others, too. */
const domainOf = (hostname: string): string => hostname.toLowerCase().split(".").slice(-2).join(".");
