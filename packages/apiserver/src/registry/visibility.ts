// Which objects of a resource each caller sees, in addition to authorization.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../cache/cached-object.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { Awaitable } from "../runtime/awaitable.ts";

export type VisibleObjects = "all" | ((object: CachedObject) => boolean);

/** Objects that a caller sees for as long as a watch lasts. Disposed with the watch. */
export type FollowedVisibility = Disposable & {
  readonly visible: VisibleObjects;
  /** Asked before anything is judged or sent. False where the watch has to end; then `end` has been called. */
  holds(): boolean;
};

export type ObjectVisibility = {
  /** The objects that exist for the caller, as of now: for one list. */
  visibleTo(context: RequestContext): Awaitable<VisibleObjects>;
  /** The same for a watch. `end` ends it with an error that the client is shown; also before this has returned. */
  follow(context: RequestContext, end: (error: Error) => void): Awaitable<FollowedVisibility>;
  /** Whether the object exists for the caller. Absent: every authorized caller sees it. */
  mayGet?(context: RequestContext, object: CachedObject): Awaitable<boolean>;
  /** The same for an update or a deletion. */
  mayChange?(context: RequestContext, object: KubeObject): Awaitable<boolean>;
};
