// The object that a typed text means: by its name, its display name, or a part of either that only one has.

import type { Titled } from "../../api/resources.ts";

/** Undefined where none or several match. */
export function findNamed<T extends Titled>(objects: readonly T[], text: string): T | undefined {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return undefined;
  const textsOf = ({ metadata, spec }: T): readonly string[] =>
    [metadata.name ?? "", spec?.displayName ?? ""].map((each) => each.toLowerCase());
  const [exact] = objects.filter(({ metadata }) => metadata.name === text.trim());
  return (
    exact ??
    onlyOf(objects.filter((object) => textsOf(object).includes(wanted))) ??
    onlyOf(objects.filter((object) => textsOf(object).some((each) => each.includes(wanted))))
  );
}

const onlyOf = <T>(found: readonly T[]): T | undefined => (found.length === 1 ? found[0] : undefined);
