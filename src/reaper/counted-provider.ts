import { DriverError } from "../driver/driver.ts";
import type { Provider } from "../driver/capabilities.ts";
import type { Meter } from "./budget.ts";

/** The same cloud, of whose lists the entries are counted: reading them is what takes most of a sweep's CPU. */
export function countedProvider({ driver, capabilities }: Provider, meter: Meter): Provider {
  const counted = <T extends readonly unknown[]>(entries: T): T => {
    meter.entries += entries.length;
    return entries;
  };
  const { inventoryPage } = capabilities;
  return {
    driver: {
      ...driver,
      async list(selector, options) {
        try {
          return counted(await driver.list(selector, options));
        } catch (error) {
          if (error instanceof DriverError) counted(error.partial ?? []);
          throw error;
        }
      },
    },
    capabilities: {
      ...capabilities,
      ...(inventoryPage && {
        async inventoryPage(selector, number, options) {
          const page = await inventoryPage(selector, number, options);
          counted(page.machines);
          return page;
        },
      }),
      ...(capabilities.serverTypes && {
        serverTypes: async (options) => counted((await capabilities.serverTypes?.(options)) ?? []),
      }),
    },
  };
}
