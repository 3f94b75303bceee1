// The controller of access requests.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { NoticeWebhook } from "../../notices/notice-webhook.ts";
import type { AccessRequests } from "../feature.ts";
import type { AccessRequestKinds } from "../kinds/index.ts";
import { createAccessNoticeController } from "./access-notice-controller.ts";
import { createAccessRequestController } from "./access-request-controller.ts";

export type AccessRequestControllerNeeds = {
  readonly access: AccessRequests;
  readonly kinds: AccessRequestKinds;
  readonly directory: Directory;
  readonly authorization: Pick<Authorization, "rbac">;
  /** Undefined: there is none. */
  readonly webhook: NoticeWebhook | undefined;
};

export const accessRequestControllers = (
  port: ControllerPort,
  { names, own }: Foundation,
  { access, kinds, directory, authorization, webhook }: AccessRequestControllerNeeds,
): readonly Controller[] => [
  createAccessRequestController(port, {
    requests: own("AccessRequest"),
    instances: own("VirtualClusterInstance"),
    grants: access.grants,
    check: kinds.check,
    writes: kinds.writes,
    announce: kinds.announce,
    causes: [directory, access.policies, authorization.rbac],
  }),
  ...(webhook === undefined
    ? []
    : [
        createAccessNoticeController(port, {
          names,
          requests: own("AccessRequest"),
          webhook,
          writes: kinds.writes,
        }),
      ]),
];
