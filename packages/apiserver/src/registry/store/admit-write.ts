// The phases of admission in a create or update: plugins that change the object, and later those that check the one that is stored.

import { finalizerWarnings } from "./finalizer-warnings.ts";
import type { Write } from "./write.ts";

export async function admit(write: Write): Promise<void> {
  write.object = (await write.store.admission.admit(write.admissionAttributes)) ?? write.object;
}

export async function confirm(write: Write): Promise<void> {
  await write.store.admission.validate(write.admissionAttributes);
}

export function warnOfFinalizers({ store, object, old, context }: Write): void {
  const warnings = finalizerWarnings(store.definition, object.metadata, old?.metadata);
  for (const warning of warnings) context.warnings.add(warning);
}
