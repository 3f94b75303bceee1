// The keys of every issuer that a rule names: fetched when the rule is there and from time to time, never because of what a token says.
// Source: OpenID Connect Discovery 1.0, section 4

import type { RequestContext } from "@postern/apiserver/context/request-context";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { IssuerSource } from "./issuer-source.ts";
import { type KeySet, keySetError, readKeySet } from "./key-set.ts";

/** State of the keys from one place. */
export type IssuerState = {
  readonly keys: KeySet;
  /** Milliseconds since the epoch; undefined: never. */
  readonly fetchedAt: number | undefined;
  /** Why the newest attempt failed; undefined after one that did not. */
  readonly fault: string | undefined;
};

export type IssuerKeys = Disposable & {
  /** The sources whose keys are wanted from now on; all others are dropped. */
  use(sources: Iterable<IssuerSource>): void;
  stateOf(source: IssuerSource): IssuerState;
  /**
   * The keys as they are now, or once more fetched where `isMissing` says that one is not among them, which happens once in a while only,
   * however many ask. Waits for a fetch that is under way where there are no keys yet, through `outside` of the request: an
   * issuer may be as slow as a tenant wants, and requests that wait for it must not have the places of others.
   */
  find(
    source: IssuerSource,
    isMissing: (keys: KeySet) => boolean,
    outside?: RequestContext["outside"],
  ): Promise<IssuerState>;
  /** Calls back when the state of a place changes. */
  onChange(listener: (source: IssuerSource) => void): Disposable;
};

/** The text of the issuer's key set. Throws FetchError. */
export type FetchKeySet = (source: IssuerSource, signal: AbortSignal) => Promise<string>;

export class FetchError extends Error {
  override readonly name = "FetchError";
}

const REFRESH_MS = 10 * 60_000;
/** Keys that have not been seen again for this long verify nothing: their issuer may have withdrawn them. */
const MAX_AGE_MS = 24 * 60 * 60_000;
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 5 * 60_000;
/** A kid that is not there makes a set be fetched again so often at most. */
const MISSING_INTERVAL_MS = 30_000;
/** Requests that wait for one fetch; further ones get "try again". */
const MAX_WAITING = 100;

const NOTHING: IssuerState = { keys: [], fetchedAt: undefined, fault: undefined };

export function createIssuerKeys(
  fetchKeySet: FetchKeySet,
  { clock, scheduler }: Pick<Runtime, "clock" | "scheduler">,
): IssuerKeys {
  const places = new Map<string, Place>();
  const listeners = new ChangeListeners<[IssuerSource]>();
  const stopping = new AbortController();

  const changed = (source: IssuerSource): void => listeners.call(source);
  const begin = (source: IssuerSource): Place => {
    const place: Place = {
      source,
      state: NOTHING,
      failures: 0,
      waiting: 0,
      askedAt: Number.NEGATIVE_INFINITY,
      fetchedElapsed: clock.elapsed(),
      stop: new AbortController(),
      fetching: undefined,
      timer: undefined,
    };
    if (source.jwks === undefined) place.timer = scheduler.schedule(0, () => void fetchNow(place));
    else place.state = { keys: readKeySet(source.jwks), fetchedAt: clock.now(), fault: undefined };
    return place;
  };
  const end = (place: Place): void => {
    place.timer?.[Symbol.dispose]();
    place.stop.abort();
  };

  /** Never rejects. One at a time. */
  const fetchNow = (place: Place): Promise<void> => {
    place.fetching ??= fetchOnce(place).finally(() => {
      place.fetching = undefined;
    });
    return place.fetching;
  };
  const fetchOnce = async (place: Place): Promise<void> => {
    place.timer?.[Symbol.dispose]();
    const { source, stop } = place;
    const signal = AbortSignal.any([stop.signal, stopping.signal]);
    const before = place.state;
    try {
      const text = await fetchKeySet(source, signal);
      const fault = keySetError(text);
      if (fault !== undefined) throw new FetchError(`its key set ${fault}`);
      place.failures = 0;
      place.state = { keys: readKeySet(text), fetchedAt: clock.now(), fault: undefined };
      place.fetchedElapsed = clock.elapsed();
    } catch (error) {
      if (signal.aborted) return;
      place.failures++;
      const fault = error instanceof FetchError ? error.message : "its response could not be read";
      place.state = { ...before, fault };
    }
    if (signal.aborted) return;
    const delay =
      place.failures === 0 ? REFRESH_MS : Math.min(FIRST_RETRY_MS * 2 ** (place.failures - 1), MAX_RETRY_MS);
    place.timer = scheduler.schedule(delay, () => void fetchNow(place));
    changed(source);
  };

  const current = (place: Place): IssuerState => {
    const { state } = place;
    const { fetchedAt } = state;
    const isTooOld =
      state.fault !== undefined && fetchedAt !== undefined && clock.elapsed() - place.fetchedElapsed > MAX_AGE_MS;
    return isTooOld ? { ...state, keys: [] } : state;
  };
  /** Undefined where nothing is to be waited for. */
  const awaited = (place: Place, isMissing: (keys: KeySet) => boolean): Promise<void> | undefined => {
    if (place.source.jwks !== undefined || !isMissing(current(place).keys)) return undefined;
    if (place.fetching !== undefined) return place.fetching;
    const isFirst = place.state.fetchedAt === undefined && place.failures === 0;
    const now = clock.elapsed();
    if (!isFirst && now - place.askedAt < MISSING_INTERVAL_MS) return undefined;
    place.askedAt = now;
    return fetchNow(place);
  };

  return {
    use(sources) {
      const wanted = new Map([...sources].map((source) => [source.id, source]));
      for (const [id, place] of places) {
        if (wanted.has(id)) continue;
        places.delete(id);
        end(place);
      }
      for (const [id, source] of wanted) if (!places.has(id)) places.set(id, begin(source));
    },
    stateOf({ id }) {
      const place = places.get(id);
      return place === undefined ? NOTHING : current(place);
    },
    async find({ id }, isMissing, outside) {
      const place = places.get(id);
      if (place === undefined) return NOTHING;
      const wait = place.waiting < MAX_WAITING ? awaited(place, isMissing) : undefined;
      if (wait !== undefined) {
        place.waiting++;
        const ended = wait.finally(() => place.waiting--);
        await (outside?.(() => ended) ?? ended);
      }
      return current(place);
    },
    onChange: (listener) => listeners.add(listener),
    [Symbol.dispose]() {
      stopping.abort();
      for (const place of places.values()) end(place);
      places.clear();
      listeners.clear();
    },
  };
}

type Place = {
  readonly source: IssuerSource;
  readonly stop: AbortController;
  state: IssuerState;
  /** In a row. */
  failures: number;
  waiting: number;
  /** When a missing key last made it be fetched, by the clock that only goes forward. */
  askedAt: number;
  /** When its state was fetched, by the same clock: the time of day may be set meanwhile. */
  fetchedElapsed: number;
  fetching: Promise<void> | undefined;
  timer: Disposable | undefined;
};
