//! One tool per output, as a board with many outputs has, each with a complete description.

use mcp_sansio::typed::{Input, Tools};

use crate::tools::Switched;

macro_rules! outputs {
    ($($variant:ident $number:literal $name:literal $title:literal $wired:literal,)*) => {
        /// A call of the tool of an output.
        #[derive(Tools)]
        pub(crate) enum Switch {
            $(
                #[doc = "Switches an output on or off, which keeps its state until it is switched"]
                #[doc = "again:"]
                #[doc = $wired]
                #[tool(
                    name = $name, title = $title, destructive = false, idempotent,
                    open_world = false, returns = Switched
                )]
                $variant(On),
            )*
        }

        impl Switch {
            /// Returns the number of the output, and whether to switch it on.
            pub(crate) const fn parts(&self) -> (u8, bool) {
                match self {
                    $(Self::$variant(On { on }) => ($number, *on)),*
                }
            }
        }
    };
}

#[derive(Input, Clone, Copy)]
pub(crate) struct On {
    /// true: on, false: off
    on: bool,
}

outputs! {
    Output00 0 "output_00" "Output 00" "edge connector pin 3 by way of the analogue input 26",
    Output01 1 "output_01" "Output 01" "edge connector, large pad 2",
    Output02 2 "output_02" "Output 02" "edge connector, large pad 1",
    Output03 3 "output_03" "Output 03" "edge connector, large pad 0",
    Output04 4 "output_04" "Output 04" "column 1 of the lamps",
    Output05 5 "output_05" "Output 05" "column 2 of the lamps",
    Output06 6 "output_06" "Output 06" "column 3 of the lamps",
    Output07 7 "output_07" "Output 07" "column 4 of the lamps",
    Output08 8 "output_08" "Output 08" "column 5 of the lamps",
    Output09 9 "output_09" "Output 09" "column 6 of the lamps",
    Output10 10 "output_10" "Output 10" "column 7 of the lamps",
    Output11 11 "output_11" "Output 11" "column 8 of the lamps",
    Output12 12 "output_12" "Output 12" "column 9 of the lamps",
    Output13 13 "output_13" "Output 13" "row 1 of the lamps",
    Output14 14 "output_14" "Output 14" "row 2 of the lamps",
    Output15 15 "output_15" "Output 15" "row 3 of the lamps",
    Output16 16 "output_16" "Output 16" "edge connector pin 16",
    Output17 17 "output_17" "Output 17" "button A",
    Output18 18 "output_18" "Output 18" "edge connector pin 8",
    Output19 19 "output_19" "Output 19" "reset line of the interface chip",
    Output20 20 "output_20" "Output 20" "edge connector pin 12",
    Output21 21 "output_21" "Output 21" "edge connector pin 15, data to a slave",
    Output22 22 "output_22" "Output 22" "edge connector pin 14, data from a slave",
    Output23 23 "output_23" "Output 23" "edge connector pin 13, clock of the slaves",
    Output24 24 "output_24" "Output 24" "transmit line of the serial port, which has priority",
    Output25 25 "output_25" "Output 25" "receive line of the serial port, which has priority",
    Output26 26 "output_26" "Output 26" "button B",
    Output27 27 "output_27" "Output 27" "interrupt line 2 of the accelerometer",
    Output28 28 "output_28" "Output 28" "interrupt line 1 of the accelerometer",
    Output29 29 "output_29" "Output 29" "interrupt line of the magnetometer",
    Output30 30 "output_30" "Output 30" "data line of the sensors",
}
