// Figures of kube-apiserver 1.32 with etcd 3.5 on 2026-11-22 on a quiet machine with two cores, and of the bare server there: requests per
// second by work, and processor time by work in µs. Runs on other machines are scaled by the speed of their own bare server.

type PeerFigure = {
  readonly perSecond: number;
  readonly bareMicroseconds: number;
  /** The work that the bare server's time belongs to. Default: the same. */
  readonly paceOf?: string;
};

const GET = "GET by name, HTTP/2, 32 streams";

const SQLITE: { readonly [work: string]: PeerFigure } = {
  "GET by name, HTTP/1.1, 32 connections": { perSecond: 1_900, bareMicroseconds: 43 },
  [GET]: { perSecond: 2_400, bareMicroseconds: 40 },
  "LIST 500 by limit": { perSecond: 109, bareMicroseconds: 508 },
  "LIST all": { perSecond: 4.1, bareMicroseconds: 8_500 },
  "LIST by label, 1 in 100": { perSecond: 320, bareMicroseconds: 145 },
  "CREATE, durable, 64 at once": { perSecond: 1_240, bareMicroseconds: 37 },
  // The wait for the disk is part of both write rates, and does not scale with the processor.
  "CREATE, durable, one at a time": { perSecond: 469, bareMicroseconds: 40, paceOf: GET },
  "PATCH (merge), 32 at once": { perSecond: 1_000, bareMicroseconds: 42 },
};

/** With both servers on the same etcd. */
const ETCD: { readonly [work: string]: PeerFigure } = {
  ...SQLITE,
  "CREATE, durable, 64 at once": { perSecond: 1_061, bareMicroseconds: 37 },
  "CREATE, durable, one at a time": { perSecond: 503, bareMicroseconds: 40, paceOf: GET },
  "PATCH (merge), 32 at once": { perSecond: 825, bareMicroseconds: 42 },
};

/**
 * The rate as a multiple of the peer's, as if it ran on this machine; undefined if unknown. `bareMicroseconds`: of the bare server in
 * this run, by work.
 */
export function timesPeer(
  store: string,
  work: string,
  perSecond: number | undefined,
  bareMicroseconds: (work: string) => number | undefined,
): number | undefined {
  const figure = (store === "etcd" ? ETCD : SQLITE)[work];
  const pace = figure === undefined ? undefined : bareMicroseconds(figure.paceOf ?? work);
  if (figure === undefined || perSecond === undefined || pace === undefined) return undefined;
  return (perSecond / figure.perSecond) * (pace / figure.bareMicroseconds);
}
