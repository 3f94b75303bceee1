// A field for the name of an object, which suggests the objects that the user can see. Other names can be typed.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { useId, useMemo, useState } from "react";
import { nameOf, type Titled } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { TextField, type TextFieldProps } from "./text-field.tsx";

/** The user finds further ones by typing. */
const SUGGESTED = 50;

/**
 * `of`: the resource of the objects, listed once the field has the focus. `also`: another one. `namedBy`: what stands in the field; default: the name.
 * `isList`: the field has several names, separated by commas; the last one is completed.
 */
export function NameField({
  of,
  also,
  namedBy = nameOf,
  isList = false,
  ...field
}: TextFieldProps & {
  readonly of: ResourceAddress;
  readonly also?: ResourceAddress | undefined;
  readonly namedBy?: (object: KubeObject) => string;
  readonly isList?: boolean;
}) {
  const [isWanted, setWanted] = useState(false);
  const { items } = useLive<Titled>(of, { isWanted });
  const { items: others } = useLive<Titled>(also ?? of, { isWanted: isWanted && also !== undefined });
  const id = useId();
  const { before, last } = lastName(field.value, isList);
  const wanted = last.trim().toLowerCase();
  const suggestions = useMemo(
    () => suggestionsFor(also === undefined ? items : [...items, ...others], wanted, namedBy),
    [items, others, also, wanted, namedBy],
  );
  return (
    <>
      <TextField {...field} list={id} onFocus={() => setWanted(true)} />
      <datalist id={id}>
        {suggestions.map((object) => (
          <option
            key={object.metadata.uid ?? namedBy(object)}
            value={`${before}${namedBy(object)}`}
            label={object.spec?.displayName || namedBy(object)}
          />
        ))}
      </datalist>
    </>
  );
}

/** `before`: the names before the last one, as a text that it follows. */
function lastName(text: string, isList: boolean): { readonly before: string; readonly last: string } {
  const at = isList ? text.lastIndexOf(",") : -1;
  return at < 0 ? { before: "", last: text } : { before: `${text.slice(0, at)}, `, last: text.slice(at + 1) };
}

function suggestionsFor(
  objects: readonly Titled[],
  wanted: string,
  namedBy: (object: KubeObject) => string,
): readonly Titled[] {
  const found: Titled[] = [];
  for (const object of objects) {
    if (!`${namedBy(object)} ${object.spec?.displayName ?? ""}`.toLowerCase().includes(wanted)) continue;
    found.push(object);
    if (found.length === SUGGESTED) break;
  }
  return found;
}
