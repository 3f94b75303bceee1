// A field for the name of an object, which suggests the objects that the user can see. Other names can be typed.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { useId, useMemo } from "react";
import { nameOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { TextField, type TextFieldProps } from "./text-field.tsx";

/** The user finds further ones by typing. */
const SUGGESTED = 50;

type Titled = KubeObject & { readonly spec?: { readonly displayName?: string } };

/** `of`: the resource of the objects. */
export function NameField({ of, ...field }: TextFieldProps & { readonly of: ResourceAddress }) {
  const { items } = useLive<Titled>(of);
  const id = useId();
  const wanted = field.value.trim().toLowerCase();
  const suggestions = useMemo(() => suggestionsFor(items, wanted), [items, wanted]);
  return (
    <>
      <TextField {...field} list={id} autoComplete="off" />
      <datalist id={id}>
        {suggestions.map((object) => (
          <option key={nameOf(object)} value={nameOf(object)} label={object.spec?.displayName || nameOf(object)} />
        ))}
      </datalist>
    </>
  );
}

function suggestionsFor(objects: readonly Titled[], wanted: string): readonly Titled[] {
  const found: Titled[] = [];
  for (const object of objects) {
    if (!`${nameOf(object)} ${object.spec?.displayName ?? ""}`.toLowerCase().includes(wanted)) continue;
    found.push(object);
    if (found.length === SUGGESTED) break;
  }
  return found;
}
