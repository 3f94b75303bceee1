// The access that is granted now: approved requests in memory, from their approval to their end, read by authentication and by the decision point.

import { followView } from "@postern/apiserver/cache/view-informer";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch } from "@postern/apiserver/runtime/clock-epochs";
import type { Foundation } from "../../foundation/foundation.ts";
import type { GrantedGroups } from "../access-keys/access-key-identity.ts";
import { isGrantOfRequest, type KeyGrants } from "../access-keys/key-grant.ts";
import { withdrawn } from "../access-keys/validity/ready-reasons.ts";
import type { GrantedAccess, GrantedPlace, GrantedRole } from "../authorization/granted-access.ts";
import { CLOCK_SKEW_MS } from "./access-limits.ts";
import { GrantSets } from "./grant-sets.ts";
import { ACCESS_REQUESTS, type RequestRecord, readRequest } from "./request-record.ts";
import { StoredRequests } from "./stored-requests.ts";

export type AccessGrants = GrantedAccess &
  GrantedGroups &
  KeyGrants &
  Disposable & {
    /** Uids of the requests whose access lasts. */
    liveUids(): readonly string[];
    /** Whether its time is over, also for a clock that was set back. */
    hasEnded(uid: string): boolean;
    /** Stored requests, for limits. */
    readonly stored: Pick<StoredRequests, "countOpen" | "countOpenIn" | "of">;
  };

/** Streams end by this timer when the clock jumps; each decision looks at the clock itself. */
const LONGEST_WAIT_MS = 1_000;

type Known = { readonly record: RequestRecord; readonly epoch: ClockEpoch; isOver: boolean };

type GrantsFoundation = Pick<Foundation, "names" | "objects" | "epochs"> & {
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
};

/**
 * Before access keys and authorization: a grant is a part of the identity of a key, and of what the decision point reads. Follows requests and
 * clusters at once; a change is in it before the write that made it is answered.
 */
export function openAccessGrants({ names, objects, epochs, runtime }: GrantsFoundation): AccessGrants {
  const { clock, scheduler } = runtime;
  const requests = objects(ACCESS_REQUESTS);
  const clusters = objects("clusters");
  const stored = new StoredRequests<Known>();
  const live = new GrantSets();
  const clusterUids = new Map<string, string>();
  const placeListeners = new Set<(place: GrantedPlace) => void>();
  const listeners = new ChangeListeners();
  const clusterListeners = new ChangeListeners();
  let version = 0;
  let clusterVersion = 0;
  let isLost = false;
  let timer: Disposable | undefined;

  const hasEnded = ({ record: { from, until }, epoch, isOver }: Known): boolean =>
    isOver || until <= epochs.latest(epoch) || from - CLOCK_SKEW_MS > clock.now();

  const changedAt = ({ place }: RequestRecord): void => {
    if (place === undefined) return;
    if ("cluster" in place) {
      clusterVersion++;
      clusterListeners.call();
      return;
    }
    for (const listener of [...placeListeners]) listener(place);
  };
  const begin = (found: Known): void => {
    live.add(found.record);
    version++;
    changedAt(found.record);
  };
  const end = (record: RequestRecord): void => {
    if (!live.delete(record.uid)) return;
    version++;
    changedAt(record);
  };

  const put = (object: Parameters<typeof readRequest>[0]): void => {
    const record = readRequest(object);
    const before = stored.get(object.key);
    const isSame = before?.record.uid === record.uid;
    const isApproved = record.phase === "Approved";
    // The end was learned when the request was approved. One that was over stays over, whatever time it is.
    const isOld = isSame && before.record.phase === "Approved";
    const found: Known = { record, epoch: isOld ? before.epoch : epochs.current(), isOver: isOld && before.isOver };
    stored.set(object.key, found);
    if (before !== undefined && !(isOld && isApproved && before.record.until === record.until)) end(before.record);
    if (!isApproved || live.has(record.uid)) return;
    found.isOver = hasEnded(found);
    if (!found.isOver) begin(found);
  };
  const remove = (key: string): void => {
    const before = stored.get(key);
    stored.delete(key);
    if (before !== undefined) end(before.record);
  };

  /** Whether a grant may be over; without grants that costs nothing. */
  const isDue = (): boolean => {
    if (live.size === 0) return false;
    const { firstEnd } = live;
    for (const epoch of epochsInUse) if (firstEnd <= epochs.latest(epoch)) return true;
    return live.lastBegin - CLOCK_SKEW_MS > clock.now();
  };
  const liveNow = (): readonly Known[] => live.uids().flatMap((uid) => stored.byUid(uid) ?? []);
  let epochsInUse = new Set<ClockEpoch>();
  const noteEpochs = (): void => {
    epochsInUse = new Set(liveNow().map(({ epoch }) => epoch));
  };

  const settle = (): void => {
    if (!isDue()) return;
    const over = liveNow().filter(hasEnded);
    // Listeners decide again, and come back here: first nothing is due any more.
    for (const found of over) {
      found.isOver = true;
      live.delete(found.record.uid);
      version++;
    }
    if (over.length === 0) return;
    noteEpochs();
    for (const { record } of over) changedAt(record);
    listeners.call();
  };

  const wait = (): void => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    if (live.size === 0) return;
    const left = Math.max(1, live.firstEnd - clock.now());
    timer = scheduler.schedule(Math.min(left, LONGEST_WAIT_MS), () => {
      settle();
      wait();
    });
  };
  const settled = (): void => {
    noteEpochs();
    listeners.call();
    wait();
  };

  const nameOf = (key: string): string => key.slice(clusters.prefix.length);
  const clusterChanged = (name: string): void => {
    if (live.inCluster(name).length === 0) return;
    clusterVersion++;
    clusterListeners.call();
  };
  const followed = [
    followView(clusters, scheduler, {
      replace(objects) {
        clusterUids.clear();
        for (const object of objects) clusterUids.set(nameOf(object.key), object.decode().metadata.uid ?? "");
        clusterVersion++;
        clusterListeners.call();
      },
      put(object) {
        const uid = object.decode().metadata.uid ?? "";
        if (clusterUids.get(nameOf(object.key)) === uid) return;
        clusterUids.set(nameOf(object.key), uid);
        clusterChanged(nameOf(object.key));
      },
      delete({ key }) {
        clusterUids.delete(nameOf(key));
        clusterChanged(nameOf(key));
      },
    }),
    followView(requests, scheduler, {
      replace(objects) {
        isLost = false;
        const there = new Set(objects.map(({ key }) => key));
        for (const key of stored.keys()) if (!there.has(key)) remove(key);
        for (const object of objects) put(object);
      },
      put,
      delete: ({ key }) => remove(key),
      settled,
      lost() {
        // A revocation may be missing from here on.
        isLost = true;
        for (const { record } of liveNow()) end(record);
        settled();
      },
    }),
  ];

  const roleOf = ({ uid, role, name }: RequestRecord): GrantedRole => ({
    group: names.accessRequestGroup(uid),
    clusterRole: role,
    accessRequest: name,
  });
  /** The last to end is first. */
  const heldBy = (groups: readonly string[], records: readonly RequestRecord[]): readonly RequestRecord[] =>
    records
      .filter(({ uid }) => groups.includes(names.accessRequestGroup(uid)))
      .sort((one, other) => other.until - one.until);
  const isLive = (uid: string): boolean => {
    settle();
    return live.has(uid);
  };

  return {
    settle,
    get version() {
      settle();
      return version;
    },
    isLive,
    liveUids() {
      settle();
      return live.uids();
    },
    hasEnded(uid) {
      const found = stored.byUid(uid);
      return found !== undefined && hasEnded(found);
    },
    inProject: (project, uid) =>
      live
        .inProject(project)
        .filter((record) => record.targetUid === uid)
        .map(roleOf),
    inVirtualCluster: (project, virtualCluster, uid) =>
      live
        .inVirtualCluster(project, virtualCluster)
        .filter((record) => record.targetUid === uid)
        .map(roleOf),
    clusters: {
      get version() {
        settle();
        return clusterVersion;
      },
      onChange: (listener) => clusterListeners.add(listener),
      of: (cluster) =>
        live
          .inCluster(cluster)
          .filter(({ targetUid }) => targetUid === clusterUids.get(cluster))
          .map(roleOf),
    },
    onPlaceChange(listener) {
      const own = (place: GrantedPlace) => listener(place);
      placeListeners.add(own);
      return { [Symbol.dispose]: () => void placeListeners.delete(own) };
    },
    groupsOf({ restrictions, grant }, { name, uid }) {
      settle();
      const own = live.ofUser(name).filter(({ userUid }) => userUid === uid);
      // A key that was made with a scope must not become wider by what its owner is granted later.
      const held =
        restrictions === undefined
          ? own
          : own.filter((record) => grant !== undefined && isGrantOfRequest(grant) && grant.ruleUid === record.uid);
      return held.map((record) => names.accessRequestGroup(record.uid));
    },
    reaching(groups, project, virtualCluster) {
      settle();
      return heldBy(groups, [...live.inProject(project), ...live.inVirtualCluster(project, virtualCluster)]);
    },
    reachingCluster(groups, cluster) {
      settle();
      return heldBy(groups, live.inCluster(cluster));
    },
    keyRefusalOf({ ruleUid }) {
      if (isLost) return { reason: "Unknown", message: "the access requests are being loaded" };
      if (isLive(ruleUid)) return undefined;
      return withdrawn("the access request that it was made with has ended");
    },
    onChange: (listener) => listeners.add(listener),
    stored,
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      for (const handle of followed) handle[Symbol.dispose]();
      listeners.clear();
      clusterListeners.clear();
      placeListeners.clear();
    },
  };
}
