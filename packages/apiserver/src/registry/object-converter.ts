// The port to what converts objects of a kind between its versions, where more than the version differs.

import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "../context/request-context.ts";

/** For whom objects are converted. */
export type ConversionCaller = Pick<RequestContext, "signal" | "weigh" | "pause">;

export type ObjectConverter = {
  /**
   * In the same order; all of them are of one version, and not of that of `to`. None has a resourceVersion. Rejects with ApiError 500 where there is
   * no answer, or one that changes what must stay.
   */
  convert(
    objects: readonly KubeObject[],
    to: GroupVersionKind,
    caller: ConversionCaller,
  ): Promise<readonly KubeObject[]>;
};
