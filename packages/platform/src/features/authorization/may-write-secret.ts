// Whether a caller may write a Secret itself: the server writes credentials only where the caller could.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { mayDo } from "../../foundation/kinds/may-do.ts";

export const mayWriteSecret = (
  verb: "create" | "update",
  { namespace, name }: { readonly namespace: string; readonly name: string },
  caller: Pick<RequestContext, "user" | "credential">,
  authorizer: Authorizer,
): Promise<boolean> =>
  // The path of a create names no object.
  mayDo(
    caller,
    { verb, apiGroup: "", resource: "secrets", namespace, name: verb === "create" ? "" : name },
    authorizer,
  );
