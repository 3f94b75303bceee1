// Controllers of wrapped values.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createRecordReaper } from "../../../foundation/store/expiring-records.ts";
import type { NoticeWebhook } from "../../notices/notice-webhook.ts";
import type { OneTimeDelivery } from "../feature.ts";
import { createReadingNotices } from "./reading-notices.ts";

export const wrappedValueControllers = (
  port: ControllerPort,
  { names, installed }: Foundation,
  { delivery, webhook }: { readonly delivery: OneTimeDelivery; readonly webhook: NoticeWebhook | undefined },
): readonly Controller[] => [
  createReadingNotices(port, { names, records: delivery.records, events: installed("", "Event"), webhook }),
  createRecordReaper(port, delivery.records),
];
