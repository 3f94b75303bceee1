// What kube-apiserver 1.32 with etcd 3.5 did on 2026-11-22 on a quiet machine of two cores, and what the bare server took there: requests per
// second by work, and processor time by work in µs. A run on another machine is set against it by the pace of its own bare server.

type PeerFigure = { readonly perSecond: number; readonly bareMicroseconds: number };

const SQLITE: { readonly [work: string]: PeerFigure } = {
  "GET by name, HTTP/1.1, 32 connections": { perSecond: 1_900, bareMicroseconds: 43 },
  "GET by name, HTTP/2, 32 streams": { perSecond: 2_400, bareMicroseconds: 40 },
  "LIST 500 by limit": { perSecond: 109, bareMicroseconds: 508 },
  "LIST all": { perSecond: 4.1, bareMicroseconds: 8_500 },
  "LIST by label, 1 in 100": { perSecond: 320, bareMicroseconds: 145 },
  "CREATE, durable, 64 at once": { perSecond: 1_240, bareMicroseconds: 37 },
  "PATCH (merge), 32 at once": { perSecond: 1_000, bareMicroseconds: 42 },
};

/** With both servers on the same etcd. */
const ETCD: { readonly [work: string]: PeerFigure } = {
  ...SQLITE,
  "CREATE, durable, 64 at once": { perSecond: 1_061, bareMicroseconds: 37 },
  "PATCH (merge), 32 at once": { perSecond: 825, bareMicroseconds: 42 },
};

/** How many times as fast as the peer, were it on this machine; undefined where that is not known. */
export function timesPeer(
  store: string,
  work: string,
  perSecond: number | undefined,
  bareMicroseconds: number | undefined,
): number | undefined {
  const figure = (store === "etcd" ? ETCD : SQLITE)[work];
  if (figure === undefined || perSecond === undefined || bareMicroseconds === undefined) return undefined;
  return (perSecond / figure.perSecond) * (bareMicroseconds / figure.bareMicroseconds);
}
