// A thermostat as an MCP server on standard input and output: three tools, one of them slow with
// progress, and a resource. Nothing is allocated.
#define _POSIX_C_SOURCE 200809L // clock_gettime

#include <mcp_sansio.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum tool { MEASURE, SET_TARGET, HEAT };

static const mcp_tool tools[] = {
    [MEASURE] = {
        .name = "measure",
        .description = "Measures the temperature",
        .output_schema = "{\"type\":\"object\",\"properties\":{\"celsius\":{\"type\":\"number\"}},\"required\":[\"celsius\"]}",
        .hints = MCP_READ_ONLY,
    },
    [SET_TARGET] = {
        .name = "set_target",
        .description = "Sets the temperature to hold",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"celsius\":{\"type\":\"number\",\"minimum\":5,\"maximum\":30}},\"required\":[\"celsius\"]}",
        .hints = MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT,
    },
    [HEAT] = {
        .name = "heat",
        .description = "Heats for some seconds, and answers when that is done",
        .input_schema = "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":60}},\"required\":[\"seconds\"]}",
    },
};

static const mcp_resource resources[] = {
    {.uri = "thermostat://state", .name = "state", .description = "What the thermostat does", .mime_type = "text/plain"},
};

static const mcp_config config = {
    .name = "thermostat",
    .version = "1.0.0",
    .instructions = "A thermostat for one room.",
    .tools = tools,
    .tool_count = sizeof tools / sizeof *tools,
};

static mcp_server server;
static uint8_t rx[4096], tx[512];
static double celsius = 19.5, target = 20;
static struct { uint64_t request, next; int32_t seconds, passed; } heating; // one at a time

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

// Writes what waits to be written. Returns false if the peer is gone.
static bool flush(void) {
    size_t len;
    const uint8_t *bytes;
    while (bytes = mcp_server_output(&server, &len), len > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, len);
        if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (written < 0) poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        mcp_server_wrote(&server, written < 0 ? 0 : (size_t)written);
    }
    return true;
}

// Makes a call until it is no longer MCP_FULL.
#define SEND(call) do {} while ((call) == MCP_FULL && flush())

static void call(const mcp_event *event) {
    char text[64];
    switch ((enum tool)event->index) {
    case MEASURE:
        snprintf(text, sizeof text, "{\"celsius\":%.1f}", celsius);
        SEND(mcp_reply_json(&server, event->request, text));
        break;
    case SET_TARGET:
        mcp_arg_f64(&server, "celsius", &target); // the schema has checked it
        snprintf(text, sizeof text, "The target is %.1f degrees", target);
        SEND(mcp_reply_text(&server, event->request, text));
        break;
    case HEAT:
        if (heating.request) {
            SEND(mcp_reply_error(&server, event->request, "It is heating already: wait, and try again"));
            break;
        }
        heating.request = event->request;
        heating.next = now() + 1000;
        heating.passed = 0;
        mcp_arg_i32(&server, "seconds", &heating.seconds);
    }
}

// Goes on with the slow tool.
static void work(void) {
    if (!heating.request || now() < heating.next) return;
    heating.next += 1000;
    celsius += 0.1;
    if (++heating.passed < heating.seconds) {
        mcp_progress(&server, heating.request, (uint32_t)heating.passed, (uint32_t)heating.seconds, "heating");
        return;
    }
    mcp_status sent;
    SEND(sent = mcp_reply_text(&server, heating.request, "It is warmer now"));
    if (sent == MCP_BUSY) heating.next = now(); // in the middle of a list: once more, soon
    else heating.request = 0;
}

static int serve(void) {
    for (;;) {
        mcp_event event;
        work();
        switch (mcp_server_next(&server, now(), &event)) {
        case MCP_TOOL:
            call(&event);
            break;
        case MCP_RESOURCE:
            SEND(mcp_reply_contents(&server, event.request, NULL, "text/plain", heating.request ? "heating" : "idle"));
            break;
        case MCP_CANCELLED:
            if (event.request == heating.request) heating.request = 0;
            break;
        case MCP_IO: {
            size_t len, size;
            mcp_server_output(&server, &len);
            if (len > 0 && !flush()) return 1;
            if (len > 0) break; // there is room now, for which something may have waited
            uint8_t *into = mcp_server_input(&server, &size);
            uint64_t due = mcp_server_due(&server), time = now();
            if (heating.request && heating.next < due) due = heating.next;
            int wait = due == UINT64_MAX ? -1 : due <= time ? 0 : due - time > 60000 ? 60000 : (int)(due - time);
            struct pollfd in = {.fd = size > 0 ? STDIN_FILENO : -1, .events = POLLIN}; // -1: only waits
            if (poll(&in, 1, wait) <= 0) break;
            ssize_t count = read(STDIN_FILENO, into, size);
            if (count > 0) mcp_server_read(&server, (size_t)count);
            else if (count == 0) mcp_server_end_of_input(&server);
            break;
        }
        case MCP_CLOSED:
            return 0;
        }
    }
}

int main(int count, char **arguments) {
    mcp_status made = mcp_server_init(&server, &config, rx, sizeof rx, tx, sizeof tx);
    if (made == MCP_OK) made = mcp_server_resources(&server, resources, sizeof resources / sizeof *resources, NULL, 0);
    if (count > 1 && strcmp(arguments[1], "--check") == 0) {
        char mistake[256];
        if (mcp_server_check(&server, mistake, sizeof mistake) == MCP_OK) return 0;
        fprintf(stderr, "%s\n", mistake);
        return 1;
    }
    return made == MCP_OK ? serve() : 1;
}
