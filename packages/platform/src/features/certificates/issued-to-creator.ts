// The owner of a certificate that was signed inside a virtual cluster on a request with an access key.

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { ownerUid } from "../access-keys/access-key-owner.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { Directory } from "../directory/directory.ts";
import type { IssuedTo } from "./issued-certificate.ts";
import type { KeyLineage } from "./key-lineage.ts";

/** Undefined where no access key had a part in it. Throws ApiError 401 where a key is gone: nothing is signed for it any more. */
export function issuedToCreator(
  lineage: readonly KeyLineage[],
  { keys, directory }: { readonly keys: Pick<AccessKeyIndex, "byUid">; readonly directory: Directory },
): IssuedTo | undefined {
  const makers = lineage.flatMap(({ keys: origins }) => origins.slice(-1)).map(({ uid }) => keys.byUid(uid));
  const place = lineage.findLast((part) => part.place !== undefined)?.place;
  const maker = makers.at(-1);
  if (makers.length === 0 || place === undefined) return undefined;
  if (maker === undefined || makers.includes(undefined)) throw unauthorizedError();
  const [accessRequestUid, ...otherAccessRequestUids] = lineage.flatMap(({ accessRequest = [] }) => accessRequest);
  const others = makers.slice(0, -1).flatMap((key) => (key === undefined ? [] : [key.uid]));
  return {
    ...place,
    owner: maker.owner,
    ownerUid: ownerUid(maker.owner, directory),
    parentUid: maker.uid,
    ...(others.length === 0 ? {} : { otherParentUids: others }),
    origins: lineage.flatMap(({ keys: origins }) => origins),
    ...(accessRequestUid === undefined ? {} : { accessRequestUid }),
    ...(otherAccessRequestUids.length === 0 ? {} : { otherAccessRequestUids }),
  };
}
