// The dialog of a page that is open: by a button of the page, or by the address, to which other pages link.

import { useState } from "react";
import { useAddress } from "../use-address.ts";

/** `linked`: the dialogs that the address can open, with `?open=<name>`. */
export function useOpened<Name extends string>(linked: readonly Name[]) {
  const { search, change } = useAddress();
  const [own, setOwn] = useState<Name>();
  const ofAddress = linked.find((name) => name === search["open"]);
  return {
    opened: own ?? ofAddress,
    open: setOwn,
    close(): void {
      setOwn(undefined);
      if (ofAddress !== undefined) change({ open: "" });
    },
  };
}
