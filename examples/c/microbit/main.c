// A BBC micro:bit (nRF51822, Cortex-M0), or QEMU's RISC-V `virt`, as an MCP server on its serial port: the tools of
// tests/size/src/bin/tools.rs, which is the same program in Rust.
#include <mcp_sansio.h>

#include <board.h>

// With -DMCP_INIT=mcp_server_init the schemas are checked, too.
#ifndef MCP_INIT
#define MCP_INIT mcp_server_init_unchecked
#endif

enum tool { LAMP, PIN, UPTIME, BLINK };

static const mcp_tool tools[] = {
    [LAMP] = {
        .name = "lamp",
        .title = "Lamp",
        .description = "Switches the lamp on or off",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"on\":{\"type\":\"boolean\",\"description\":\"Whether it shines\"}},\"required\":[\"on\"]}",
        .hints = MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT,
    },
    [PIN] = {
        .name = "pin",
        .title = "Pin",
        .description = "Reads whether a pin is high",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":30}},\"required\":[\"number\"]}",
        .output_schema = "{\"type\":\"object\",\"properties\":{\"number\":{\"type\":\"integer\"},\"high\":{\"type\":\"boolean\"}},\"required\":[\"number\",\"high\"]}",
        .hints = MCP_READ_ONLY,
    },
    [UPTIME] = {
        .name = "uptime",
        .title = "Uptime",
        .description = "Milliseconds since the start",
        .hints = MCP_READ_ONLY,
    },
    [BLINK] = {
        .name = "blink",
        .title = "Blink",
        .description = "Lets the lamp blink, and answers when it is done",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"times\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":255},\"period\":{\"type\":\"integer\",\"description\":\"Milliseconds\",\"default\":500}},\"required\":[\"times\"]}",
        .hints = MCP_NOT_DESTRUCTIVE,
    },
};

static const mcp_config config = {
    .name = "board",
    .version = "1.0.0",
    .title = "Board",
    .instructions = "A microcontroller with one lamp and 31 pins.",
    .tools = tools,
    .tool_count = sizeof tools / sizeof *tools,
};

#define IN_FLIGHT 4

static mcp_server server;
static uint8_t rx[1024], tx[512];
static struct job {
    uint64_t request; // 0: free
    uint32_t due, half_period;
    uint16_t changes;
} jobs[IN_FLIGHT];

// The time, to which each wrap of the counter adds its length.
static uint64_t now(void) {
    static uint32_t last;
    static uint64_t high;
    uint32_t time = board_milliseconds();
    if (time < last) high += BOARD_WRAPS_AT;
    last = time;
    return high + time;
}

// Writes what waits to be written. Returns whether there was anything.
static bool flush(void) {
    size_t len;
    const uint8_t *bytes = mcp_server_output(&server, &len);
    for (size_t at = 0; at < len; at++) board_send(bytes[at]);
    mcp_server_wrote(&server, len);
    return len > 0;
}

// Makes a call until it is no longer MCP_FULL.
#define SEND(call) while ((call) == MCP_FULL) flush()

// Writes a number in front of `end`; returns where it begins.
static char *decimal(uint32_t number, char *end) {
    do *--end = (char)('0' + number % 10);
    while (number /= 10);
    return end;
}

static char *put(char *to, const char *text) {
    while (*text) *to++ = *text++;
    return to;
}

static void call(const mcp_event *event) {
    char text[48], digits[11];
    digits[10] = 0;
    switch ((enum tool)event->index) {
    case LAMP: {
        bool on;
        if (mcp_arg_bool(&server, "on", &on) != MCP_OK) {
            SEND(mcp_reply_error(&server, event->request, "on must be true or false"));
            break;
        }
        board_lamp(on);
        SEND(mcp_reply_text(&server, event->request, on ? "The lamp is on" : "The lamp is off"));
        break;
    }
    case PIN: {
        int32_t number;
        if (mcp_arg_i32(&server, "number", &number) != MCP_OK || number < 0 || number > 30) {
            SEND(mcp_reply_error(&server, event->request, "number must be 0 to 30"));
            break;
        }
        char *end = put(text, "{\"number\":");
        end = put(end, decimal((uint32_t)number, digits + 10));
        end = put(end, board_pins() >> number & 1 ? ",\"high\":true}" : ",\"high\":false}");
        *end = 0;
        SEND(mcp_reply_json(&server, event->request, text));
        break;
    }
    case UPTIME:
        SEND(mcp_reply_text(&server, event->request, decimal((uint32_t)now(), digits + 10)));
        break;
    case BLINK: {
        int32_t times, period = 500;
        mcp_status has_times = mcp_arg_i32(&server, "times", &times);
        mcp_status has_period = mcp_arg_i32(&server, "period", &period);
        if (has_times != MCP_OK || times < 1 || times > 255 || has_period < MCP_OK || period < 0 || period > 65535) {
            SEND(mcp_reply_error(&server, event->request, "times must be 1 to 255, and period a number of milliseconds"));
            break;
        }
        for (struct job *job = jobs; job < jobs + IN_FLIGHT; job++) {
            if (job->request) continue;
            *job = (struct job){
                event->request, (uint32_t)now(), (uint32_t)period / 2, (uint16_t)(times * 2)};
            break;
        }
    }
    }
}

// Goes on with the jobs that are due. Returns whether there are any.
static bool work(void) {
    bool any = false;
    for (struct job *job = jobs; job < jobs + IN_FLIGHT; job++) {
        if (!job->request) continue;
        any = true;
        if ((int32_t)((uint32_t)now() - job->due) < 0) continue;
        job->due += job->half_period;
        board_lamp((job->changes & 1) == 0);
        if (job->changes > 0) {
            job->changes--;
            continue;
        }
        mcp_status sent;
        SEND(sent = mcp_reply_text(&server, job->request, "Done"));
        if (sent != MCP_BUSY) job->request = 0; // otherwise in the middle of a list: once more
    }
    return any;
}

int main(void) {
    board_open();
    if (MCP_INIT(&server, &config, rx, sizeof rx, tx, sizeof tx) != MCP_OK) return 1;
    mcp_server_request_timeout(&server, 30);
    mcp_server_peer_can_reconnect(&server);
    for (;;) {
        mcp_event event;
        switch (mcp_server_next(&server, now(), &event)) {
        case MCP_TOOL:
            call(&event);
            break;
        case MCP_CANCELLED:
        case MCP_TIMED_OUT:
            for (struct job *job = jobs; job < jobs + IN_FLIGHT; job++)
                if (job->request == event.request) job->request = 0;
            break;
        case MCP_IO: {
            if (flush()) break; // there is room now, for which something may have waited
            size_t size, count = 0;
            uint8_t *into = mcp_server_input(&server, &size);
            // While a job runs, or a request can time out, nothing may wait for a byte.
            bool waits = !work() && mcp_server_due(&server) == UINT64_MAX;
            while (count < size && (board_has_byte() || (waits && count == 0)))
                if (board_has_byte()) into[count++] = board_take();
            mcp_server_read(&server, count);
        }
        }
    }
}
