// The phases of admission in a create or update: plugins that change the object, and later those that check the one that is stored.

import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import { finalizerWarnings } from "./finalizer-warnings.ts";
import type { Write, WritePhase } from "./write.ts";

export function admit(write: Write): Awaitable<void> {
  return whenDone(write.store.admission.admit(write.admissionAttributes), (admitted) => {
    write.object = admitted ?? write.object;
  });
}

export const confirm: WritePhase = ({ store, admissionAttributes }) => store.admission.validate(admissionAttributes);

export function warnOfFinalizers({ store, object, old, context }: Write): void {
  const warnings = finalizerWarnings(store.definition, object.metadata, old?.metadata);
  for (const warning of warnings) context.warnings.add(warning);
}
